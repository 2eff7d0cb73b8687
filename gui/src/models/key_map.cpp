#include "models/key_map.h"

#include <algorithm>

namespace ridgeline::gui {

KeyMap::KeyMap(QSettings* settings, QObject* parent) : QObject(parent), settings_(settings) {
  const auto add = [&](const char* id, const char* text, Place place, const QKeySequence& key) {
    entries_.push_back({id, tr(text), place, key, key});
  };
  using enum Place;
  add("open", "Open a capture", window, QKeySequence::Open);
  add("compare", "Compare with other captures", window, QKeySequence("Ctrl+Shift+O"));
  add("record", "Record a program", window, QKeySequence("Ctrl+R"));
  add("doctor", "Doctor: what this machine lets be measured", window, {});
  add("search", "Search names and ranges", window, QKeySequence("/"));
  add("commands", "All commands", window, QKeySequence(">"));
  add("sql", "SQL query", window, QKeySequence(":"));
  add("back", "Back to the view before", window, QKeySequence("Alt+Left"));
  add("forward", "Forward again", window, QKeySequence("Alt+Right"));
  add("save_view", "Save layout, pins, notes and bookmarks", window, QKeySequence::Save);
  add("export_roofline", "Export the roofline", window, {});
  add("export_capture", "Export the range as a capture of its own", window, {});
  add("export_ranking", "Export the ranking as CSV", window, {});
  add("export_timeline", "Export the timeline as a picture", window, {});
  add("panel_timeline", "Go to the timeline", window, QKeySequence("Alt+1"));
  add("panel_ranking", "Go to the ranking", window, QKeySequence("Alt+2"));
  add("panel_roofline", "Go to the roofline", window, QKeySequence("Alt+3"));
  add("panel_step", "Go to the step", window, QKeySequence("Alt+4"));
  add("panel_kernel", "Go to the kernel", window, QKeySequence("Alt+5"));
  add("panel_sql", "Go to SQL", window, QKeySequence("Alt+6"));
  add("panel_log", "Go to the log", window, QKeySequence("Alt+7"));
  add("panel_compare", "Go to the comparison", window, QKeySequence("Alt+8"));
  add("panel_advice", "Go to the advice", window, QKeySequence("Alt+0"));
  add("panel_findings", "Go to the findings", window, QKeySequence("Alt+9"));
  add("panel_what-if", "Go to what if", window, QKeySequence("Alt+I"));
  add("panel_gaps", "Go to the gaps", window, QKeySequence("Alt+G"));
  add("next_gap", "Longest gap, then the next shorter one", window, QKeySequence("Ctrl+G"));
  add("previous_gap", "The next longer gap", window, QKeySequence("Ctrl+Shift+G"));
  add("light", "Light theme", window, {});
  add("dark", "Dark theme", window, {});
  add("reset_layout", "Reset the layout of the panels", window, {});
  add("keys", "Keys", window, QKeySequence("?"));
  add("manual", "Manual of the window", window, {});
  add("about", "About Ridgeline", window, {});
  add("quit", "Quit", window, QKeySequence::Quit);
  add("fit", "Show what is chosen, else the step", timeline, QKeySequence("F"));
  add("home", "Show everything", timeline, QKeySequence("Home"));
  add("zoom_to_range", "Zoom to the range", timeline, QKeySequence("Z"));
  add("zoom_in", "Zoom in", timeline, QKeySequence("+"));
  add("zoom_out", "Zoom out", timeline, QKeySequence("-"));
  add("next_same", "Next launch of the same kernel", timeline, QKeySequence("."));
  add("previous_same", "Previous launch of the same kernel", timeline, QKeySequence(","));
  add("next_match", "Next match of the search", timeline, QKeySequence("N"));
  add("previous_match", "Previous match of the search", timeline, QKeySequence("Shift+N"));
  add("follow_flow", "Between a call and its kernel", timeline, QKeySequence("]"));
  add("follow_back", "Between a kernel and its call", timeline, QKeySequence("["));
  add("next_event", "Next event of the row", timeline, QKeySequence("Ctrl+Right"));
  add("previous_event", "Previous event of the row", timeline, QKeySequence("Ctrl+Left"));
  add("row_below", "What the row below has at that time", timeline, QKeySequence("Ctrl+Down"));
  add("row_above", "What the row above has at that time", timeline, QKeySequence("Ctrl+Up"));
  add("mark", "Note at this time", timeline, QKeySequence("M"));
  add("nvtx_ranges", "Show only the NVTX ranges of that name", timeline, QKeySequence("R"));
  add("toggle_pin", "Pin the row under the mouse", timeline, QKeySequence("Shift+T"));
  add("clear", "Let go of the range of time, then of the NVTX ranges, then of the kernel", timeline,
      QKeySequence("Esc"));
  if (settings_ == nullptr) return;
  for (Entry& entry : entries_) {
    const QVariant kept = settings_->value("keys/" + entry.id);
    if (kept.isValid()) entry.key = QKeySequence::fromString(kept.toString(), QKeySequence::PortableText);
  }
}

const KeyMap::Entry* KeyMap::find(const QString& id) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

QString KeyMap::command(Place place, const QKeySequence& key) const {
  if (key.isEmpty()) return {};
  for (const Entry& entry : entries_) {
    if (entry.place == place && entry.key == key) return entry.id;
  }
  return {};
}

bool KeyMap::rebind(const QString& id, const QKeySequence& key) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == id; });
  if (found == entries_.end()) return false;
  const QString taken = command(found->place, key);
  if (!taken.isEmpty() && taken != id) return false;
  found->key = key;
  if (settings_ != nullptr) settings_->setValue("keys/" + id, key.toString(QKeySequence::PortableText));
  emit changed();
  return true;
}

void KeyMap::reset() {
  for (Entry& entry : entries_) {
    entry.key = entry.standard;
    if (settings_ != nullptr) settings_->remove("keys/" + entry.id);
  }
  emit changed();
}

}  // namespace ridgeline::gui
