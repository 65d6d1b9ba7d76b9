// The program `ddpprof-gui`: opens the window, and the file named on the command line.
#include <QApplication>
#include <QCommandLineParser>
#include <cstdio>

#include "gui/window/appearance.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/packed_qt.hpp"
#include "gui/window/picture.hpp"
#include "gui/window/style.hpp"

namespace {

using namespace ddpprof::gui;

constexpr int usage = 2, failed = 4;  // the exit codes that ddpprof uses

int complain(const QString& wrong, int code) {
  std::fprintf(stderr, "ddpprof-gui: %s\n", qPrintable(wrong));
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  use_packed_qt(program_folder() / "../lib/ddpprof-gui");
  QApplication::setOrganizationName("ddpprof");
  QApplication::setApplicationName("ddpprof-gui");
  QApplication::setApplicationVersion(DDPPROF_VERSION);
  QCommandLineParser parser;
  parser.setApplicationDescription("Explore trace databases: scaling, what-if, timelines.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(
      "FILE", "Trace database, or traces, folders, tables and logs, as ddpprof import takes them.", "[FILE…]");
  const QCommandLineOption page("page", "Start on this page, e.g. Timeline.", "NAME");
  const QCommandLineOption look("appearance", "Colours for this start: light, dark or system.", "WHICH");
  const QCommandLineOption size("size", "Size of the window, for example 1280x800.", "WIDTHxHEIGHT");
  const QCommandLineOption save("save", "Save the page as a PNG picture and exit.", "PICTURE.png");
  parser.addOptions({page, look, size, save});
  QStringList words;
  for (int i = 0; i < argc; ++i) words << QString::fromLocal8Bit(argv[i]);
  // Help, version and a wrong option need no display.
  if (!parser.parse(words) || parser.isSet("help") || parser.isSet("version")) {
    const QCoreApplication without_display(argc, argv);
    parser.process(words);
  }
  const QApplication application(argc, argv);
  apply_design();
  parser.process(application);
  const QStringList files = parser.positionalArguments();
  if (parser.isSet(save) && files.isEmpty()) return complain("--save requires a FILE", usage);

  if (parser.isSet(look)) {
    const QString word = parser.value(look);
    if (word != "light" && word != "dark" && word != "system")
      return complain("--appearance: '" + word + "' (expected light, dark or system)", usage);
    apply_appearance(word == "light" ? Appearance::light : word == "dark" ? Appearance::dark : Appearance::system);
  } else {
    restore_appearance();
  }
  MainWindow window;
  if (parser.isSet(page) && !window.show_page(parser.value(page)))
    return complain(
        "--page: unknown page '" + parser.value(page) + "' (expected one of " + window.page_titles().join(", ") + ")",
        usage);
  if (parser.isSet(size)) {
    const QStringList sides = parser.value(size).split('x');
    const int width = sides.value(0).toInt(), height = sides.value(1).toInt();
    if (sides.size() != 2 || width < 320 || height < 240 || width > 16384 || height > 16384)
      return complain("--size: '" + parser.value(size) + "' (expected WIDTHxHEIGHT, at least 320x240)", usage);
    window.resize(width, height);
  }
  window.show();
  OpenRequest request;
  for (const QString& file : files) request.paths.emplace_back(file.toStdString());
  window.open(request);
  int code = 0;
  if (parser.isSet(save)) {
    window.forget_layout();
    save_when_quiet(window, parser.value(save), [&code](const QString& why) {
      if (!why.isEmpty()) code = complain(why, failed);
      QApplication::quit();
    });
  }
  const int ended = QApplication::exec();
  return code != 0 ? code : ended;
}
