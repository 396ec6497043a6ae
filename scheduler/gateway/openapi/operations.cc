#include "scheduler/gateway/openapi/operations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "proto/json/field_words.h"
#include "scheduler/gateway/openapi/comments.h"
#include "scheduler/server/door/permissions.h"

namespace glim::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using proto::Json;
using server::Callers;
using server::Ownership;
using server::Permission;

constexpr char kYaml[] = "application/yaml";
constexpr char kJson[] = "application/json";

struct Refusal {
  const char* status;
  const char* when;
  bool of_bodies;  // only where there is one
};
constexpr auto kRefusals = std::to_array<Refusal>({
    {"400", "The request is wrong: `field` says where.", false},
    {"401", "No token that counts.", false},
    {"403", "Not allowed, or from another site.", false},
    {"404", "There is no such thing.", false},
    {"405", "Another verb: `Allow` says which.", false},
    {"408", "The request did not come in time.", false},
    {"409", "A conflict with what there is.", false},
    {"413", "The body is larger than 16 MiB.", true},
    {"414", "The address is longer than 8000 bytes.", false},
    {"415", "The body is of another type.", true},
    {"422", "The state of things does not allow it.", false},
    {"429", "Too much at a time: `Retry-After` says when to come again.", false},
    {"431", "The head is larger than 16 KiB.", false},
    {"501", "The scheduler has no such method yet.", false},
    {"503", "Not now: `Retry-After` says when to come again.", false},
    {"504", "It took too long.", false},
});

// The {names} of a pattern, in order.
std::vector<std::string> NamesOf(std::string_view pattern) {
  std::vector<std::string> names;
  for (std::size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at + 1)) {
    names.emplace_back(pattern.substr(at + 1, pattern.find('}', at) - at - 1));
  }
  return names;
}

const FieldDescriptor* FieldAt(const Descriptor& type, const std::string& path) {
  const std::size_t dot = path.find('.');
  const FieldDescriptor* const field = type.FindFieldByName(path.substr(0, dot));
  return dot == std::string::npos ? field : FieldAt(*field->message_type(), path.substr(dot + 1));
}

// A method that several routes call is told apart by what their paths name.
std::string OperationId(const Route& route) {
  const auto of_method = [&](const Route& other) { return other.method == route.method; };
  std::string id(route.method.substr(route.method.find('/') + 1));
  const std::vector<std::string> names = NamesOf(route.pattern);
  if (std::count_if(Routes().begin(), Routes().end(), of_method) == 1 || names.empty()) return id;
  id += "By";
  bool begins = true;
  for (const char c : names.back()) {
    if (c != '_') id += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return id;
}

std::string WhoMay(const Permission& row) {
  if (row.callers == Callers::kAnybody) return "Anybody may, without a token.";
  std::string text = "Least role: " + std::string(core::ToString(row.least)) +
                     "; least scope of the token: " + std::string(core::ToString(row.scope)) + ".";
  if (row.ownership == Ownership::kOwn) text += " About the caller's own things; operators may more.";
  if (row.ownership == Ownership::kTeam) text += " The job's owner, an admin of its team and operators may.";
  if (row.ownership == Ownership::kPartly) text += " What is private of others is left out.";
  if (row.audited) text += " It is in the audit trail.";
  return text;
}

Json ParameterOf(const std::string& name, const char* in, const std::string& text, Json schema) {
  Json parameter{{"name", name}, {"in", in}};
  if (std::string_view(in) == "path") parameter["required"] = true;
  if (!text.empty()) parameter["description"] = text;
  parameter["schema"] = std::move(schema);
  return parameter;
}

// What stands in the query: no messages, no bytes.
void AddQuery(const Descriptor& type, const std::set<std::string>& without, Schemas* schemas, Json* parameters) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool in_body = field.message_type() != nullptr || field.type() == FieldDescriptor::TYPE_BYTES;
    if (in_body || without.contains(field.name())) continue;
    parameters->push_back(ParameterOf(field.name(), "query", CommentOf(field), schemas->Parameter(field)));
    if (!proto::IsPointInTime(field)) continue;
    parameters->push_back(ParameterOf(proto::TwinOf(field), "query", "instead of " + field.name(), TwinSchema()));
  }
}

Json BodyOf(const Route& route, const Descriptor& type, const std::set<std::string>& of_path, Schemas* schemas) {
  Json content{{kJson, {{"schema", schemas->Body(type, of_path)}}}};
  if (route.form == v1::Http::SPECS) content[kYaml] = {{"schema", RefTo("schemas", "JobFile")}};
  return {{"required", false}, {"content", std::move(content)}};
}

Json ShownBy(const Route& route, const MethodDescriptor& method, Schemas* schemas) {
  if (route.form == v1::Http::LOG) {
    const auto header = [](const char* says, const char* type) {
      return Json{{"description", says}, {"schema", {{"type", type}}}};
    };
    return {
        {"description", "The bytes as they are. A log that fails on its way ends without its last chunk."},
        {"headers",
         {{"Glim-Log-Attempt", header("Whose log it is.", "integer")},
          {"Glim-Log-Offset", header("Of the first byte.", "integer")},
          {"Glim-Log-Begin", header("The offset of the first byte that is left of the log.", "integer")},
          {"Glim-Log-End", header("The offset of the log's end when it was looked at.", "integer")},
          {"Glim-Log-Kept-Of", header("A node that has the log no more: this is its end, as it was kept.", "string")}}},
        {"content", {{"text/plain", {{"schema", {{"type", "string"}}}}}}}};
  }
  if (route.form == v1::Http::EVENTS) {
    const Descriptor& event = *method.output_type()->FindFieldByName("events")->message_type();
    return {{"description", "One document a line; if it fails on its way, the last line is an error."},
            {"content", {{"application/x-ndjson", {{"schema", schemas->Document(event)}}}}}};
  }
  return DocumentShown(schemas->Document(*method.output_type()));
}

}  // namespace

Json DocumentShown(Json schema) {
  return {{"description", "One document, one line."},
          {"headers", {{"ETag", RefTo("headers", "ETag")}}},
          {"content", {{kJson, {{"schema", std::move(schema)}}}}}};
}

Json Answers(Json shown, bool with_body) {
  Json answers{{"200", std::move(shown)}};
  for (const Refusal& refusal : kRefusals) {
    if (refusal.of_bodies && !with_body) continue;
    answers[refusal.status] = RefTo("responses", refusal.status);
  }
  return answers;
}

Json Refusals() {
  Json all = Json::object();
  all["304"] = {{"description", "It is what `If-None-Match` names."},
                {"headers", {{"ETag", RefTo("headers", "ETag")}}}};
  for (const Refusal& refusal : kRefusals) {
    Json& one = all[refusal.status];
    one["description"] = refusal.when;
    const std::string_view status = refusal.status;
    const auto header = [&](const char* name, const char* what) {
      one["headers"] = {{name, {{"description", what}, {"schema", {{"type", "string"}}}}}};
    };
    if (status == "401") header("WWW-Authenticate", "How to show who one is.");
    if (status == "405") header("Allow", "The path's verbs.");
    if (status == "429" || status == "503") header("Retry-After", "Seconds.");
    one["content"] = {{kJson, {{"schema", RefTo("schemas", "Error")}}}};
  }
  return all;
}

Json ByToken(std::string_view verb) {
  const Json nothing = Json::array();
  Json by_cookie{{"cookie", nothing}};
  if (verb != "GET") by_cookie["csrf"] = nothing;
  return Json::array({Json{{"bearer", nothing}}, std::move(by_cookie)});
}

Json OperationOf(const Route& route, const DescriptorPool& pool, Schemas* schemas) {
  std::string name = "glim.v1." + std::string(route.method);
  std::replace(name.begin(), name.end(), '/', '.');
  const MethodDescriptor& method = *pool.FindMethodByName(name);
  const Descriptor& request = *method.input_type();
  const Permission& row = *server::FindPermission("/glim.v1." + std::string(route.method));
  const bool with_body = route.verb == "POST" || route.verb == "PUT";

  const std::string comment = CommentOf(method);
  Json operation{{"operationId", OperationId(route)}};
  operation["summary"] = InWords(method.name());
  operation["description"] = (comment.empty() ? "" : comment + (comment.ends_with('.') ? " " : ". ")) + WhoMay(row);
  operation["tags"] = Json::array({std::string(route.pattern.substr(4, route.pattern.find('/', 4) - 4))});

  Json parameters = Json::array();
  std::set<std::string> of_path;
  for (const std::string& path_name : NamesOf(route.pattern)) {
    const FieldDescriptor& field = *FieldAt(request, path_name);
    parameters.push_back(ParameterOf(path_name, "path", CommentOf(field), schemas->Value(field)));
    of_path.emplace(path_name);
  }
  if (!with_body || route.form == v1::Http::SPECS) AddQuery(request, of_path, schemas, &parameters);
  const bool is_document = route.form == v1::Http::PLAIN || route.form == v1::Http::SPECS;
  if (is_document) parameters.push_back(RefTo("parameters", "fields"));
  if (is_document && route.verb == "GET") parameters.push_back(RefTo("parameters", "IfNoneMatch"));
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  if (with_body) operation["requestBody"] = BodyOf(route, request, of_path, schemas);
  operation["responses"] = Answers(ShownBy(route, method, schemas), with_body);
  if (is_document && route.verb == "GET") operation["responses"]["304"] = RefTo("responses", "304");
  operation["security"] = row.callers == Callers::kAnybody ? Json::array({Json::object()}) : ByToken(route.verb);
  operation["x-glim-method"] = std::string(route.method);
  return operation;
}

}  // namespace glim::gateway
