#include "nodeagent/health/wire/smart_document.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "nodeagent/health/text_scan.h"

namespace glim::nodeagent::health {
namespace {

using nlohmann::json;
using Field = std::optional<std::int64_t> SmartReading::*;

const json* Find(const json& document, const char* path) {
  const json::json_pointer pointer(path);
  return document.contains(pointer) ? &document.at(pointer) : nullptr;
}

std::optional<std::int64_t> NumberAt(const json& document, const char* path) {
  const json* value = Find(document, path);
  if (value && value->is_boolean()) return value->get<bool>() ? 1 : 0;
  return value && value->is_number_integer() ? std::optional(value->get<std::int64_t>()) : std::nullopt;
}

// Some makers put several counts into the raw value's 48 bits. smartctl's database knows how: the first number of its
// text is the one that people read.
std::optional<std::int64_t> RawOf(const json& attribute) {
  if (const json* text = Find(attribute, "/raw/string"); text && text->is_string()) {
    TextScan scan(text->get_ref<const std::string&>());
    if (const auto number = scan.Number()) return number;
  }
  return NumberAt(attribute, "/raw/value");
}

void ReadAttributes(const json& document, SmartReading* reading) {
  const std::pair<std::int64_t, Field> wanted[] = {{5, &SmartReading::reallocated},  // as smartctl numbers them
                                                   {197, &SmartReading::pending},
                                                   {198, &SmartReading::uncorrectable}};
  const json* table = Find(document, "/ata_smart_attributes/table");
  if (!table || !table->is_array()) return;
  for (const json& attribute : *table) {
    const auto id = NumberAt(attribute, "/id");
    for (const auto& [number, field] : wanted) {
      if (id == number) reading->*field = RawOf(attribute);
    }
  }
}

}  // namespace

Result<SmartReading> ParseSmartDocument(const std::string& text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return Status(StatusCode::kFailedPrecondition, "what it says is no JSON document");
  SmartReading reading;
  const std::pair<const char*, Field> fields[] = {
      {"/smart_status/passed", &SmartReading::passed},
      {"/smart_status/scsi/asc", &SmartReading::sense},
      {"/smart_status/scsi/ascq", &SmartReading::sense_more},
      {"/nvme_smart_health_information_log/critical_warning", &SmartReading::warning},
      {"/nvme_smart_health_information_log/available_spare", &SmartReading::spare},
      {"/nvme_smart_health_information_log/available_spare_threshold", &SmartReading::spare_least},
      {"/nvme_smart_health_information_log/percentage_used", &SmartReading::used},
      {"/nvme_smart_health_information_log/media_errors", &SmartReading::media_errors}};
  for (const auto& [path, field] : fields) reading.*field = NumberAt(document, path);
  ReadAttributes(document, &reading);
  if (reading != SmartReading{}) return reading;
  const json* why = Find(document, "/smartctl/messages/0/string");
  return Status(StatusCode::kFailedPrecondition,
                why && why->is_string() ? MakeText(why->get_ref<const std::string&>()) : "the disk says nothing");
}

}  // namespace glim::nodeagent::health
