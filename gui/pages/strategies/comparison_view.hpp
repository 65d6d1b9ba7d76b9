// The comparison's table: sentences wrapped into the width there is, rows as high as they need.
#pragma once

#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {

class ComparisonView : public TableView {
  Q_OBJECT

 public:
  explicit ComparisonView(QWidget* parent = nullptr);

 protected:
  void resizeEvent(QResizeEvent*) override;

 private:
  void spread();
};

}  // namespace ddpprof::gui
