// timeline_accessible.h: the painted timeline as a tree that a screen reader can walk: rows, and the events in view.
#pragma once

namespace ridgeline::gui {

/// Makes Qt ask here about timelines; once a program.
void install_timeline_accessibility();

}  // namespace ridgeline::gui
