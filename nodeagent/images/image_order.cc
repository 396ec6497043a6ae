#include "nodeagent/images/image_order.h"

#include <nlohmann/json.hpp>

#include "nodeagent/task/task_user_json.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

template <typename T>
Result<T> Parse(const std::string& text, const char* what, T (*read)(const json&)) {
  try {
    return read(json::parse(text));
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, std::string(what) + ": " + error.what());
  }
}

json JsonOf(const ImageFacts& facts) {
  return {{"digest", facts.digest}, {"workdir", facts.workdir}, {"shell", facts.shell}, {"libc", facts.libc},
          {"passwd", facts.passwd}, {"group", facts.group},     {"env", facts.env},     {"bytes", facts.bytes}};
}

ImageFacts FactsFrom(const json& value) {
  ImageFacts facts;
  value.at("digest").get_to(facts.digest);
  value.at("workdir").get_to(facts.workdir);
  value.at("shell").get_to(facts.shell);
  value.at("libc").get_to(facts.libc);
  value.at("passwd").get_to(facts.passwd);
  value.at("group").get_to(facts.group);
  value.at("env").get_to(facts.env);
  value.at("bytes").get_to(facts.bytes);
  return facts;
}

ImageOrder OrderFrom(const json& value) {
  ImageOrder order;
  value.at("image").get_to(order.image);
  value.at("real").get_to(order.real);
  order.rules = {value.at("allow").get<std::vector<std::string>>(), value.at("state_dir").get<std::string>(),
                 UserFromJson(value)};
  value.at("folder").get_to(order.folder);
  value.at("progress").get_to(order.progress);
  value.at("registries").get_to(order.registries);
  value.at("unpacked_bytes").get_to(order.bounds.unpacked_bytes);
  value.at("files").get_to(order.bounds.files);
  value.at("folder_bytes").get_to(order.bounds.folder_bytes);
  return order;
}

ImageAnswer AnswerFrom(const json& value) {
  ImageAnswer answer;
  value.at("file").get_to(answer.file);
  answer.facts = FactsFrom(value.at("facts"));
  answer.fault = StartFaultOf(value.at("fault").get<std::string>());
  value.at("message").get_to(answer.message);
  return answer;
}

}  // namespace

ImageAnswer NoImage(const Status& why) { return {"", {}, FaultOf(why), WithFix(why)}; }

std::string ToJson(const ImageOrder& order) {
  json value = JsonOf(order.rules.owner);
  value.update({{"image", order.image},
                {"real", order.real},
                {"allow", order.rules.allow},
                {"state_dir", order.rules.state_dir},
                {"folder", order.folder},
                {"progress", order.progress},
                {"registries", order.registries},
                {"unpacked_bytes", order.bounds.unpacked_bytes},
                {"files", order.bounds.files},
                {"folder_bytes", order.bounds.folder_bytes}});
  return Dump(value);
}
Result<ImageOrder> ParseImageOrder(const std::string& text) { return Parse(text, "the order of an image", OrderFrom); }

std::string ToJson(const ImageFacts& facts) { return Dump(JsonOf(facts)); }
Result<ImageFacts> ParseImageFacts(const std::string& text) { return Parse(text, "the facts of an image", FactsFrom); }

std::string ToJson(const ImageAnswer& answer) {
  return Dump({{"file", answer.file},
               {"facts", JsonOf(answer.facts)},
               {"fault", ToWord(answer.fault)},
               {"message", answer.message}});
}
Result<ImageAnswer> ParseImageAnswer(const std::string& text) {
  return Parse(text, "what glim-image answers", AnswerFrom);
}

}  // namespace glim::nodeagent
