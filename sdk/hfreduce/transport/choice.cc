#include "sdk/hfreduce/transport/choice.h"

#include <algorithm>

namespace glim::hfreduce {
namespace {

constexpr char kFix[] =
    "bring the port up (`rdma link`, `ibstat`), name another one with `device`, or use transport auto, which takes TCP "
    "then";

// Of the first node that offers none.
std::string WhyNot(const std::vector<VerbsOffer>& offers) {
  const auto first = std::find_if(offers.begin(), offers.end(), [](const VerbsOffer& o) { return !o.possible(); });
  const bool all = std::all_of(offers.begin(), offers.end(),
                               [&](const VerbsOffer& o) { return !o.possible() && o.why_not == first->why_not; });
  const std::string who = all ? "every node" : "node " + std::to_string(first - offers.begin());
  return who + ": " + first->why_not;
}

Status CannotBeHad(const std::string& wanted, const std::string& why, const std::string& field) {
  return Status(StatusCode::kFailedPrecondition, "transport " + wanted + " cannot be had; " + why)
      .WithField(field)
      .WithFix(kFix);
}

}  // namespace

Choice Choose(const std::string& wanted, const std::vector<VerbsOffer>& offers) {
  if (wanted == "tcp") return {Choice::Way::kTcp, "", Status::Ok()};
  const bool all = std::all_of(offers.begin(), offers.end(), [](const VerbsOffer& o) { return o.possible(); });
  if (all) return {Choice::Way::kVerbs, "", Status::Ok()};
  const std::string why = WhyNot(offers);
  if (wanted == "auto") return {Choice::Way::kTcp, why, Status::Ok()};
  if (wanted == "verbs") return {Choice::Way::kVerbs, why, CannotBeHad(wanted, why, "transport")};
  const auto named = std::find_if(offers.begin(), offers.end(), [](const VerbsOffer& o) { return o.named; });
  if (named == offers.end()) return {Choice::Way::kUcxTcp, why, Status::Ok()};
  const std::string which = "node " + std::to_string(named - offers.begin()) + ": " + named->why_not;
  return {Choice::Way::kUcxTcp, which, CannotBeHad(wanted, which, "device")};
}

Choice ChooseWithoutVerbs(const std::string& wanted, const Status& failure) {
  const std::string why = "verbs failed at set-up: " + failure.message();
  if (wanted == "auto") return {Choice::Way::kTcp, why, Status::Ok()};
  if (wanted == "ucx") return {Choice::Way::kUcxTcp, why, Status::Ok()};
  Status error(failure.code(), "transport " + wanted + " cannot be had; " + why);
  const std::string fix = failure.fix().empty() ? kFix : failure.fix();
  return {Choice::Way::kVerbs, why, std::move(error).WithField("transport").WithFix(fix)};
}

}  // namespace glim::hfreduce
