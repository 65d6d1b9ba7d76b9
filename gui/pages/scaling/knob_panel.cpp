#include "gui/pages/scaling/knob_panel.hpp"

#include <QInputDialog>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/pages/scaling/answer_labels.hpp"
#include "gui/plots/design.hpp"
#include "gui/widgets/knob.hpp"

namespace ddpprof::gui::whatif {
namespace {

std::int64_t whole(double value) { return std::llround(value); }

// Keys of the two entries that ask for a link.
const QString another_rate = QStringLiteral("…rate"), a_log = QStringLiteral("…log");

}  // namespace

KnobPanel::KnobPanel(QWidget* parent) : QScrollArea(parent), reset_all_(new QPushButton(tr("Reset all"), this)) {
  auto* content = new QWidget(this);
  column_ = new QVBoxLayout(content);
  column_->setContentsMargins(grid_px, grid_px, grid_px, grid_px);
  column_->setSpacing(2);
  setWidget(content);
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus);  // Tab goes to the controls inside, which are scrolled into view

  reset_all_->setShortcut(QKeySequence(tr("Ctrl+0")));
  reset_all_->setToolTip(tr("Reset all knobs to their measured values (Ctrl+0)"));
  column_->addWidget(reset_all_);
  connect(reset_all_, &QPushButton::clicked, this, [this] {
    const Knobs back = measured_;
    show_knobs(back, back);
    emit changed(back);
    emit status_message(tr("All knobs are as measured."));
  });

  heading(tr("Prediction for"));
  add(KnobId::workers, new Knob(tr("&Workers N"), tr("Number of workers of the prediction."),
                                {1.0, static_cast<double>(most_workers), true, true}, {}, 0, this));
  add(KnobId::strategy, new Choice(tr("Strateg&y"),
                                   tr("DDP and DataParallel are predicted from their own measurements; the others are "
                                      "simulated from DDP's steps."),
                                   {{"ddp", tr("DDP"), {}},
                                    {"dp", tr("DataParallel"), {}},
                                    {"zero1", tr("ZeRO 1: optimizer sharded"), {}},
                                    {"zero2", tr("ZeRO 2: + gradients"), {}},
                                    {"zero3", tr("ZeRO 3 / FSDP: + parameters"), {}},
                                    {"ps", tr("parameter servers"), {}},
                                    {"async-ps", tr("asynchronous servers"), {}}},
                                   this));
  add(KnobId::servers, new Knob(tr("Servers"), tr("Number of parameter servers that share the parameters."),
                                {1.0, 1024.0, true, true}, {}, 0, this));
  add(KnobId::gpus_per_node, new Knob(tr("&GPUs per node"),
                                      tr("Ranks per host. Automatic: ranks on a CPU share one host; of GPUs a host has "
                                         "as many as were measured, at least 8. In brackets is the value of automatic; all: "
                                         "every rank is on one host."),
                                      {0.0, 64.0, false, true}, {}, 0, this, tr("automatic (64)")));  // the widest text
  add(KnobId::inter_node, new Choice(tr("Link between nodes"),
                                     tr("Used if several nodes are needed and no link between nodes was measured. The "
                                        "rate is that of all links of one node."),
                                     {{"usual", tr("not named: usual range"), {}},
                                      {"25Gbit/s", tr("25 Gbit/s Ethernet"), {}},
                                      {"100Gbit/s", tr("100 Gbit/s Ethernet"), {}},
                                      {"400Gbit/s", tr("400 Gbit/s Ethernet"), {}},
                                      {"hdr", tr("InfiniBand HDR"), {}},
                                      {"ndr", tr("InfiniBand NDR"), {}},
                                      {"8xhdr", tr("8 × InfiniBand HDR"), {}},
                                      {"8xndr", tr("8 × InfiniBand NDR"), {}},
                                      {another_rate, tr("another rate…"), {}},
                                      {a_log, tr("a log of nccl-tests…"), {}}},
                                     this));
  link_note_ = new QLabel(tr("⚠ Which link connects the nodes? It was not measured: until you choose one, the interval "
                             "spans all usual links."),
                          this);
  link_note_->setWordWrap(true);
  link_note_->hide();
  column_->addWidget(link_note_);
  add(KnobId::dedicated,
      new Choice(
          tr("Cor&es"),
          tr("Shared: more ranks share the cores of the measured machine. Dedicated: each rank has as many cores as "
             "one rank has at N = 1."),
          {{"machine", tr("shared, as measured"), {}}, {"dedicated", tr("dedicated to each rank"), {}}}, this));

  heading(tr("What if: links"));
  add(KnobId::bandwidth, new Knob(tr("Link &bandwidth"), tr("Factor on the fitted bandwidth of a link."),
                                  {0.05, 20.0, true, false}, tr(" ×"), 3, this));
  add(KnobId::latency, new Knob(tr("Link laten&cy"), tr("Factor on the fitted latency of one hop."),
                                {0.05, 20.0, true, false}, tr(" ×"), 3, this));

  heading(tr("What if: communication"));
  add(KnobId::bucket_cap,
      new Knob(tr("Bucket ca&p"), tr("DDP's bucket_cap_mb. Gradients are assigned to buckets again."),
               {0.25, 1024.0, true, false}, tr(" MiB"), 2, this));
  add(KnobId::sixteen_bit,
      new Choice(tr("16-bit numbe&rs"),
                 tr("16-bit gradients in the all-reduce (by a communication hook), or the whole model in 16 bits."),
                 {{"", tr("as measured"), {}},
                  {"compression=fp16", tr("compress gradients: fp16"), {}},
                  {"compression=bf16", tr("compress gradients: bf16"), {}},
                  {"precision=fp16", tr("model in fp16"), {}},
                  {"precision=bf16", tr("model in bf16"), {}}},
                 this));
  add(KnobId::overlap, new Choice(tr("&Overlap"), tr("Off: all-reduces start after the end of backward."),
                                  {{"on", tr("with backward"), {}}, {"off", tr("off"), {}}}, this));

  heading(tr("What if: work"));
  add(KnobId::batch,
      new Knob(tr("Batch per wor&ker"), tr("Samples of one micro-batch."), {1.0, 65536.0, true, true}, {}, 0, this));
  add(KnobId::accumulation, new Knob(tr("Accumulatio&n"), tr("Micro-batches before gradients are reduced once."),
                                     {1.0, 256.0, true, true}, {}, 0, this));
  add(KnobId::compute, new Knob(tr("Co&mpute speed"), tr("Factor on the speed of forward, backward and optimizer."),
                                {0.1, 20.0, true, false}, tr(" ×"), 3, this));
  add(KnobId::host, new Knob(tr("Host's launches"),
                             tr("Factor on the speed at which the host launches kernels (CUDA graphs, torch.compile)."),
                             {0.1, 20.0, true, false}, tr(" ×"), 3, this));
  column_->addStretch(1);
  // Wide enough for all texts beside the scroll bar.
  setMinimumWidth(content->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width() + 4);
}

void KnobPanel::heading(const QString& text) {
  column_->addWidget(knob_heading(text, this));
}

KnobBase* KnobPanel::add(KnobId id, KnobBase* knob) {
  column_->addWidget(knob);
  if (auto* number = qobject_cast<Knob*>(knob)) {
    numbers_[id] = number;
    connect(number, &Knob::changed, this, &KnobPanel::read_knobs);
    connect(number, &Knob::refused, this, [this, id, number](const QString& typed) {
      const QString hint = id == KnobId::bandwidth ? tr(". A rate between nodes is set under “Link between nodes”")
                           : id == KnobId::latency ? tr(". It is a factor on the measured latency")
                                                   : QString();
      emit status_message(
          tr("%1: “%2” was not used: expected %3%4.").arg(number->label(), typed.trimmed(), number->expected(), hint));
    });
  } else if (auto* choice = qobject_cast<Choice*>(knob)) {
    choices_[id] = choice;
    if (id == KnobId::inter_node)
      connect(choice, &Choice::changed, this, [this](const QString& key) {
        if (key != another_rate && key != a_log) return read_knobs();
        choices_.at(KnobId::inter_node)->set_value(QString::fromStdString(knobs_.inter_node));
        key == a_log ? emit log_wanted() : ask_link_text();
      });
    else
      connect(choice, &Choice::changed, this, &KnobPanel::read_knobs);
  }
  return knob;
}

Knob* KnobPanel::number(KnobId id) const {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? nullptr : found->second;
}

Choice* KnobPanel::choice(KnobId id) const {
  const auto found = choices_.find(id);
  return found == choices_.end() ? nullptr : found->second;
}

void KnobPanel::ask_for_link(bool asks) { link_note_->setVisible(asks); }

bool KnobPanel::asks_for_link() const { return link_note_->isVisibleTo(this); }

QString KnobPanel::set_link(const QString& text) {
  try {
    collective::parse_node_links(text.trimmed().toStdString());
  } catch (const std::invalid_argument& error) {
    return QString::fromStdString(error.what());
  }
  choices_.at(KnobId::inter_node)->set_value(text.trimmed());
  read_knobs();
  return {};
}

void KnobPanel::ask_link_text() {
  const QString example = QString::fromUtf8(collective::node_links_example.data(),
                                            static_cast<qsizetype>(collective::node_links_example.size()));
  bool given = false;
  const QString text = QInputDialog::getText(this, tr("Link between nodes"),
                                             tr("Rate of all links of one node, for example %1:").arg(example),
                                             QLineEdit::Normal, {}, &given);
  if (!given || text.trimmed().isEmpty()) return;
  if (const QString why = set_link(text); !why.isEmpty()) emit status_message(why);
}

void KnobPanel::set_file(const OpenedFile* file) {
  setEnabled(file != nullptr && file->models);
  if (file == nullptr || !file->models) return;
  const std::optional<std::int64_t> automatic = automatic_gpus_per_node(*file);
  number(KnobId::gpus_per_node)
      ->set_zero(automatic ? tr("automatic (%1)").arg(*automatic) : tr("automatic (all)"));
  const bool ddp = !file->models->measured.ddp.empty(), dp = !file->models->measured.dp.empty();
  Choice* strategy = choice(KnobId::strategy);
  strategy->set_why_not("dp", dp ? QString() : tr("DataParallel was not measured in this file"));
  for (const char* key : {"ddp", "zero1", "zero2", "zero3", "ps", "async-ps"})
    strategy->set_why_not(key, ddp ? QString() : tr("DDP was not measured in this file"));
}

void KnobPanel::show_knobs(const Knobs& knobs, const Knobs& measured) {
  knobs_ = knobs;
  measured_ = measured;
  const auto put = [&](KnobId id, double now, double then) {
    numbers_.at(id)->set_measured(then);
    numbers_.at(id)->set_value(now);
  };
  const auto pick = [&](KnobId id, const std::string& now, const std::string& then) {
    choices_.at(id)->set_measured(QString::fromStdString(then));
    choices_.at(id)->set_value(QString::fromStdString(now));
  };
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  put(KnobId::workers, real(knobs.workers), real(measured.workers));
  put(KnobId::servers, real(knobs.servers), real(measured.servers));
  put(KnobId::gpus_per_node, real(knobs.gpus_per_node), real(measured.gpus_per_node));
  put(KnobId::bandwidth, knobs.bandwidth, measured.bandwidth);
  put(KnobId::latency, knobs.latency, measured.latency);
  put(KnobId::bucket_cap, knobs.bucket_cap_mb, measured.bucket_cap_mb);
  // A value that is missing in the file is not a change.
  put(KnobId::batch, real(std::max<std::int64_t>(1, knobs.batch)), real(std::max<std::int64_t>(1, measured.batch)));
  put(KnobId::accumulation, real(knobs.accumulation), real(measured.accumulation));
  put(KnobId::compute, knobs.compute, measured.compute);
  put(KnobId::host, knobs.host, measured.host);
  pick(KnobId::strategy, knobs.strategy, measured.strategy);
  pick(KnobId::inter_node, knobs.inter_node, measured.inter_node);
  pick(KnobId::dedicated, knobs.dedicated ? "dedicated" : "machine", measured.dedicated ? "dedicated" : "machine");
  pick(KnobId::sixteen_bit, knobs.sixteen_bit, measured.sixteen_bit);
  pick(KnobId::overlap, knobs.overlap ? "on" : "off", measured.overlap ? "on" : "off");
  enable();
}

void KnobPanel::enable() {
  const bool dp = knobs_.strategy == "dp";
  const QString no_ddp = dp ? tr("DataParallel has no buckets, communication hooks or overlap") : QString();
  for (const KnobId id : {KnobId::sixteen_bit, KnobId::overlap}) choices_.at(id)->set_why_disabled(no_ddp);
  numbers_.at(KnobId::bucket_cap)->set_why_disabled(no_ddp);
  numbers_.at(KnobId::gpus_per_node)
      ->set_why_disabled(dp ? tr("DataParallel is one process: all its replicas are on one host") : QString());
  choices_.at(KnobId::inter_node)
      ->set_why_disabled(dp ? tr("DataParallel is one process: all its replicas are on one host") : QString());
  numbers_.at(KnobId::servers)->setVisible(knobs_.strategy.ends_with("ps"));
  numbers_.at(KnobId::host)->setVisible(measured_.has_host);
  choices_.at(KnobId::dedicated)->setVisible(measured_.has_cores || measured_.dedicated);
  numbers_.at(KnobId::batch)
      ->set_why_disabled(measured_.batch > 0 ? QString() : tr("The batch is not recorded in this file"));
}

void KnobPanel::read_knobs() {
  const auto count = [&](KnobId id) { return whole(numbers_.at(id)->value()); };
  Knobs now = knobs_;
  now.workers = count(KnobId::workers);
  now.servers = count(KnobId::servers);
  now.gpus_per_node = count(KnobId::gpus_per_node);
  now.bandwidth = numbers_.at(KnobId::bandwidth)->value();
  now.latency = numbers_.at(KnobId::latency)->value();
  now.bucket_cap_mb = numbers_.at(KnobId::bucket_cap)->value();
  if (measured_.batch > 0) now.batch = count(KnobId::batch);
  now.accumulation = count(KnobId::accumulation);
  now.compute = numbers_.at(KnobId::compute)->value();
  if (measured_.has_host) now.host = numbers_.at(KnobId::host)->value();
  now.strategy = choices_.at(KnobId::strategy)->value().toStdString();
  now.inter_node = choices_.at(KnobId::inter_node)->value().toStdString();
  now.dedicated = choices_.at(KnobId::dedicated)->value() == "dedicated";
  now.sixteen_bit = choices_.at(KnobId::sixteen_bit)->value().toStdString();
  now.overlap = choices_.at(KnobId::overlap)->value() == "on";
  knobs_ = now;
  enable();
  emit changed(now);
}

}  // namespace ddpprof::gui::whatif
