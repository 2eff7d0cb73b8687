#include "convert_v9.h"

namespace ridgeline::store {

namespace {

// The index is for captures in which each of many steps has a sentence of its own.
constexpr const char* kConvertReasons = R"sql(
INSERT INTO reason(code, text)
SELECT 'none_given', sentence FROM (
  SELECT reason AS sentence FROM step UNION SELECT reason FROM tier_status UNION SELECT text FROM message
  UNION SELECT reason FROM pm_window UNION SELECT reason FROM stall_window)
WHERE sentence IS NOT NULL ORDER BY sentence;
CREATE UNIQUE INDEX reason_by_text ON reason(text);
UPDATE step SET reason_id = (SELECT id FROM reason WHERE text = step.reason) WHERE reason IS NOT NULL;
UPDATE tier_status SET reason_id = (SELECT id FROM reason WHERE text = tier_status.reason) WHERE reason IS NOT NULL;
UPDATE message SET reason_id = (SELECT id FROM reason WHERE reason.text = message.text);
UPDATE pm_window SET reason_id = (SELECT id FROM reason WHERE text = pm_window.reason) WHERE reason IS NOT NULL;
UPDATE stall_window SET reason_id = (SELECT id FROM reason WHERE text = stall_window.reason) WHERE reason IS NOT NULL;
DROP INDEX reason_by_text;
ALTER TABLE step DROP COLUMN reason;
ALTER TABLE tier_status DROP COLUMN reason;
ALTER TABLE message DROP COLUMN text;
ALTER TABLE pm_window DROP COLUMN reason;
ALTER TABLE stall_window DROP COLUMN reason;
)sql";

}  // namespace

void convert_to_v9(Database& database) {
  database.execute(kConvertReasons);
}

}  // namespace ridgeline::store
