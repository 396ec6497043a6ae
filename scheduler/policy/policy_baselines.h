// `health.validate.baselines` of a policy file: what nodes of a kind have, typically. `glim-validate --merge FILES
// --policy` prints such a row.
//
//   baselines:
//     - {pool: train, gpu_type: h100, expected: {cpu.piece: 41.7, gpu.tensor: 576}}
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// The list is what the file says: rows of before are not kept. Refuses names that no measure has, and rows that no node
// can reach behind one of the same kind.
yaml::Field IntoBaselines(std::vector<core::NodeBaseline>* out);

// "[]", "[{pool: train, expected: {cpu.piece: 41.7}}]": what IntoBaselines reads.
std::string BaselinesYaml(const std::vector<core::NodeBaseline>& baselines);

}  // namespace glim::server
