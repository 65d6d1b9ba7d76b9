// The program `ddpprof-gui`: opens the window, and the file named on the command line.
#include <QApplication>
#include <QCommandLineParser>

#include "gui/window/appearance.hpp"
#include "gui/window/main_window.hpp"

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  QApplication::setOrganizationName("ddpprof");
  QApplication::setApplicationName("ddpprof-gui");
  QApplication::setApplicationVersion(DDPPROF_VERSION);
  QApplication::setStyle("Fusion");
  QCommandLineParser parser;
  parser.setApplicationDescription("Explore trace databases: scaling, timelines, what-if.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("FILE.db", "Trace database, as written by ddpprof run.", "[FILE.db]");
  const QCommandLineOption page("page", "Start on this page, e.g. Timeline.", "NAME");
  parser.addOption(page);
  parser.process(application);
  ddpprof::gui::restore_appearance();
  ddpprof::gui::MainWindow window;
  if (parser.isSet(page)) window.show_page(parser.value(page));
  window.show();
  if (!parser.positionalArguments().isEmpty()) window.open(parser.positionalArguments().front());
  return QApplication::exec();
}
