// Finds the programs and libraries that belong to this `ddpprof`: in the build tree or where they were installed.
#pragma once

#include <filesystem>

namespace ddpprof::measure {

struct Installation {
  std::filesystem::path worker;  // ddpprof-worker
  std::filesystem::path tracer;  // libddpprof-tracer.so
};

// The variables DDPPROF_WORKER_PROGRAM, DDPPROF_TRACER_LIBRARY, DDPPROF_PYTHON_MODULE and DDPPROF_GUI_PROGRAM name
// other paths. Throws
// MissingProgram with the paths that were searched.
Installation find_installation();
std::filesystem::path find_worker();
std::filesystem::path find_tracer();
std::filesystem::path find_python_module();  // the folder with sitecustomize.py, injected into Python processes
std::filesystem::path find_comm_script();    // the script that bench-comm starts with the user's launcher
std::filesystem::path find_gui();            // ddpprof-gui

}  // namespace ddpprof::measure
