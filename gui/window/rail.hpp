// The rail at the left of the window: an icon and a title for each page. It is the tab bar of the pages.
#pragma once

#include <QTabBar>
#include <QTabWidget>

namespace ddpprof::gui {

class Rail : public QTabBar {
  Q_OBJECT

 public:
  explicit Rail(QWidget* parent = nullptr);

  // Shows icons only, with the titles as tooltips: for narrow windows.
  void set_compact(bool compact);
  bool compact() const { return compact_; }
  // The rail can always become compact, so it does not keep a window wide. A low window gets buttons to scroll.
  QSize minimumSizeHint() const override;

 protected:
  QSize tabSizeHint(int index) const override;
  QSize minimumTabSizeHint(int index) const override { return tabSizeHint(index); }
  void tabInserted(int index) override;
  void paintEvent(QPaintEvent*) override;
  void keyPressEvent(QKeyEvent*) override;  // Up and Down change the page
  void mouseMoveEvent(QMouseEvent*) override;
  void leaveEvent(QEvent*) override;

 private:
  void show_titles();  // as tooltips, where they are not drawn

  bool compact_ = false;
  int below_mouse_ = -1;  // tab below the mouse
};

// The pages, with the rail at their left.
class PageTabs : public QTabWidget {
  Q_OBJECT

 public:
  explicit PageTabs(QWidget* parent = nullptr);

  QSize minimumSizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent*) override;

 private:
  Rail* rail_;
};

}  // namespace ddpprof::gui
