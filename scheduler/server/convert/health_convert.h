// What agents tell of hardware and its health, bounded, as the core's values; and these as the messages that users see.
// Pure. What an agent says out of bounds is cut or left out: a card with a strange name is no reason to refuse a node.
#pragma once

#include <memory>

#include "glim/v1/agent_api.pb.h"
#include "glim/v1/node.pb.h"
#include "scheduler/core/model/event.h"
#include "scheduler/core/model/rows.h"

namespace glim::server {

// Null: an agent of an earlier release.
std::shared_ptr<const core::NodeInventory> InventoryOf(const v1::Hello& hello);

// health_boot, health_events (the newest 64) and health_conditions (32, one for each check of a device).
void HealthToEvent(const v1::NodeReport& report, core::NodeReported* event);

void InventoryToProto(const core::NodeInventory& inventory, v1::NodeInventory* out);

// The newest event first, though the row keeps it last.
void HealthEventsToProto(const core::Node& node, v1::Node* out);
void HealthConditionsToProto(const core::Node& node, v1::Node* out);
// The newest first, likewise.
void FailuresToProto(const core::Node& node, v1::Node* out);

// How it stands with the job that measures nodes. Nothing of a node that never was to be measured.
void ValidationToProto(const core::Node& node, v1::Node* out);

}  // namespace glim::server
