// The table of the comparison: sentences wrapped to the width of the columns, rows as high as needed.
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
