// what_if_panel.h: what the step would gain if kernels were faster: a slider for each, and the four figures below.
#pragma once

#include <QCheckBox>
#include <QGridLayout>
#include <QLabel>
#include <QSlider>
#include <QTimer>
#include <QWidget>
#include <memory>
#include <vector>

#include "models/capture_document.h"
#include "models/what_if_choice.h"
#include "panels/elided_label.h"

namespace ridgeline::gui {

class WhatIfPanel : public QWidget {
  Q_OBJECT
 public:
  explicit WhatIfPanel(CaptureDocument& document, QWidget* parent = nullptr);

  [[nodiscard]] const WhatIfChoice& choice() const { return choice_; }
  /// In tenths: 10 is as recorded, 15 half again as fast. By WhatIfChoice::kernels().
  [[nodiscard]] QSlider* slider(std::size_t kernel) const { return sliders_.at(kernel); }
  [[nodiscard]] QCheckBox* graph() const { return graph_; }
  [[nodiscard]] QCheckBox* hide_copies() const { return hide_copies_; }
  /// The figures below the sliders.
  [[nodiscard]] QString figures() const { return figures_->text(); }
  [[nodiscard]] QString notes() const { return notes_->text(); }
  /// Whether an answer is on its way.
  [[nodiscard]] bool waiting() const { return waiting_ || later_.isActive(); }

 protected:
  /// Of the first name: how much room there is for all.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  using Answered = std::shared_ptr<const analyzer::WhatIf>;
  void add_kernel(std::size_t kernel, QGridLayout* rows);
  void name_kernels();
  void changed();
  void ask();
  void show_answer(const Result<Answered>& answer);

  CaptureDocument& document_;
  WhatIfChoice choice_;
  std::vector<ElidedLabel*> names_;
  std::vector<QSlider*> sliders_;
  std::vector<QLabel*> times_;
  QCheckBox* graph_;
  QCheckBox* hide_copies_;
  QLabel* figures_;
  QLabel* notes_;
  QTimer later_;  // a slider under way does not ask at each place
  bool waiting_ = false;
  std::uint64_t questions_ = 0;  // asked so far
};

}  // namespace ridgeline::gui
