#include "scheduler/gateway/openapi/document.h"

#include <string_view>
#include <utility>

#include "scheduler/gateway/openapi/operations.h"
#include "scheduler/gateway/openapi/schemas.h"
#include "scheduler/gateway/routes.h"

namespace glim::gateway {
namespace {

using google::protobuf::DescriptorPool;
using proto::Json;

constexpr std::size_t kLineMax = 120;
constexpr char kAbout[] =
    "Time-sharing scheduler for deep-learning clusters: what docs/http.md describes, for programs. Made from the "
    "protocol's files by a test.\n\n"
    "Requests are read strictly: what there is not is refused, with the field, what is wrong and how to mend it. "
    "What is left out has its default. The fields of a POST or PUT may stand in the query as well, lists by "
    "repeating them. Bodies are UTF-8, 16 MiB at most, without a key twice. A message's `null` is one that is not "
    "set. Enumerations are words, `bytes` are base64, 64-bit numbers are JSON numbers. A point in time `x_at_ms` "
    "(since the epoch, in milliseconds) has a twin `x_at` in RFC 3339 and may be written as either.\n\n"
    "Answers have all their fields, unless `fields` names some; newer schedulers may have more. `HEAD` answers "
    "like `GET`, `OPTIONS` says which verbs a path has. Large answers are compressed for `Accept-Encoding: gzip`. "
    "With `insecure_without_identity` there are no tokens: a name is claimed in the header `Glim-User`.";

// The schema's message by its name.
const google::protobuf::Descriptor& MessageOf(const DescriptorPool& pool, const char* name) {
  return *pool.FindMessageTypeByName(std::string("glim.v1.") + name);
}

Json WithCsrf(Json about) {
  const Json csrf{{"type", "object"},
                  {"properties", {{"csrf", {{"type", "string"}, {"description", "for the header X-Glim-Csrf"}}}}},
                  {"required", Json::array({"csrf"})}};
  return {{"allOf", Json::array({std::move(about), csrf})}};
}

Json Plain(const char* id, const char* summary, const char* text, Json security) {
  Json operation{{"operationId", id}, {"summary", summary}, {"description", text}};
  operation["tags"] = Json::array({"browsers"});
  operation["security"] = std::move(security);
  return operation;
}

Json JsonShown(Json schema) {
  Json shown = DocumentShown(std::move(schema));
  shown.erase("headers");
  return shown;
}

Json SessionPath(const DescriptorPool& pool, Schemas* schemas) {
  const Json by_nobody = Json::array({Json::object()});
  Json begin = Plain(
      "BeginSession", "Exchanges a code for a session",
      "The answer sets the cookie `__Host-glim_session`. The code, of POST /v1/session/code, counts once.", by_nobody);
  const auto& code = MessageOf(pool, "RedeemWebCodeRequest");
  begin["requestBody"] = {{"required", true},
                          {"content", {{"application/json", {{"schema", schemas->Body(code, {})}}}}}};
  const Json point{{"type", "integer"}, {"format", "int64"}, {"description", "of the session"}};
  Json session{{"type", "object"}};
  session["properties"] = {{"version", RefTo("schemas", "Version")},
                           {"user", {{"type", "string"}}},
                           {"expires_at_ms", point},
                           {"expires_at", TwinSchema()}};
  session["required"] = Json::array({"version", "user", "expires_at_ms", "expires_at"});
  Json begun = JsonShown(WithCsrf(session));
  begun["headers"] = {{"Set-Cookie", {{"description", "The session's."}, {"schema", {{"type", "string"}}}}}};
  begin["responses"] = Answers(std::move(begun), true);

  Json show = Plain("ShowSession", "Who asks, and the session's CSRF token",
                    "`csrf` is empty where the request came without a session.", ByToken("GET"));
  show["responses"] = Answers(JsonShown(WithCsrf(schemas->Document(MessageOf(pool, "WhoAmIResponse")))), false);

  Json end = Plain("EndSession", "Ends a session", "Its token is revoked, and the cookie goes.", ByToken("DELETE"));
  end["security"].erase(0);  // without a cookie there is none
  end["responses"] = Answers(JsonShown(schemas->Document(MessageOf(pool, "RevokeTokenResponse"))), false);
  return {{"post", std::move(begin)}, {"get", std::move(show)}, {"delete", std::move(end)}};
}

Json StreamPath() {
  Json open =
      Plain("OpenStream", "What changes, as server-sent events",
            "Goes on until its reader goes. What each topic sends: docs/protocols/stream.md. Least role: viewer; "
            "jobs' own tokens have no stream.",
            ByToken("GET"));
  const Json text{{"type", "string"}};
  Json topics{{"name", "topics"}, {"in", "query"}, {"required", true}};
  topics["description"] = "nodes, queue, job:ID, events, log:JOB:RANK, with commas between; at most 32, 8 of them logs";
  topics["schema"] = text;
  topics["example"] = "nodes,queue,job:812,events,log:812:0";
  Json last{{"name", "last_event_id"}, {"in", "query"}, {"schema", text}};
  last["description"] = "the last `id` that was read: it goes on there; the same as the header Last-Event-ID";
  open["parameters"] = Json::array({std::move(topics), std::move(last)});
  open["responses"] = Answers(
      {{"description", "Frames of server-sent events."}, {"content", {{"text/event-stream", {{"schema", text}}}}}},
      false);
  return {{"get", std::move(open)}};
}

Json DescriptionPath() {
  Json show = Plain("GetOpenApi", "This description", "Without a token.", Json::array({Json::object()}));
  show["tags"] = Json::array({"version"});
  show["parameters"] = Json::array({RefTo("parameters", "IfNoneMatch")});
  show["responses"] = Answers(DocumentShown({{"type", "object"}}), false);
  show["responses"]["200"]["description"] = "OpenAPI 3.1.";
  show["responses"]["304"] = RefTo("responses", "304");
  return {{"get", std::move(show)}};
}

void AddSharedSchemas(Schemas* schemas) {
  schemas->Add("Version", {{"const", proto::kJsonVersion}, {"description", "of the documents' form"}});
  Json error{{"type", "object"}};
  const Json text{{"type", "string"}};
  const auto said = [&](const char* what) { return Json{{"type", "string"}, {"description", what}}; };
  error["properties"] = {{"code", said("gRPC's name of the kind of refusal: INVALID_ARGUMENT")},
                         {"reason", said("stable, for programs: BAD_FIELD")},
                         {"message", said("what is wrong, in words")},
                         {"field", said("where: specs[0].nodes; empty: it is about no field")},
                         {"fix", said("how to mend it; empty: nobody knows")}};
  error["required"] = Json::array({"code", "reason", "message", "field", "fix"});
  Json document{{"type", "object"}};
  document["properties"] = {{"version", RefTo("schemas", "Version")}, {"error", std::move(error)}};
  document["required"] = Json::array({"version", "error"});
  schemas->Add("Error", std::move(document));
  schemas->Add("JobFile", {{"type", "object"},
                           {"description",
                            "One job file, or several behind each other, as docs/job-spec.md has them; "
                            "1 MiB at most, `workdir` written out. deploy/job.schema.json is its schema."}});
}

Json SecuritySchemes() {
  Json schemes;
  schemes["bearer"] = {{"type", "http"}, {"scheme", "bearer"}, {"description", "A token: glim_ID_SECRET."}};
  schemes["cookie"] = {{"type", "apiKey"},
                       {"in", "cookie"},
                       {"name", "__Host-glim_session"},
                       {"description", "A browser's session. Without TLS its name is glim_session."}};
  schemes["csrf"] = {{"type", "apiKey"},
                     {"in", "header"},
                     {"name", "X-Glim-Csrf"},
                     {"description", "Beside the cookie, of what changes something."}};
  return schemes;
}

Json SharedParameters() {
  const Json text{{"type", "string"}};
  Json fields{{"name", "fields"}, {"in", "query"}, {"schema", text}};
  fields["description"] = "Only these fields of the answer, with commas between: jobs.id,jobs.state. `version` stays.";
  Json tag{{"name", "If-None-Match"}, {"in", "header"}, {"schema", text}};
  tag["description"] = "An ETag that is known: the same answer is 304.";
  return {{"fields", std::move(fields)}, {"IfNoneMatch", std::move(tag)}};
}

void Lay(const Json& value, std::size_t room, const std::string& indent, std::string* out) {
  const std::string line = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!value.is_structured() || value.empty() || line.size() <= room) {
    *out += line;
    return;
  }
  const std::string deeper = indent + " ";
  *out += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& item : value.items()) {
    const std::string name = value.is_object() ? Json(item.key()).dump() + ": " : "";
    *out += first ? "\n" : ",\n";
    *out += deeper;
    *out += name;
    first = false;
    const std::size_t used = deeper.size() + name.size() + 1;
    Lay(item.value(), used < kLineMax ? kLineMax - used : 0, deeper, out);
  }
  *out += "\n" + indent + (value.is_object() ? "}" : "]");
}

}  // namespace

Json OpenApiDocument(const DescriptorPool& pool) {
  Schemas schemas;
  AddSharedSchemas(&schemas);
  Json paths = Json::object();
  for (const Route& route : Routes()) {
    std::string verb(route.verb);
    for (char& c : verb) c = static_cast<char>(c - 'A' + 'a');
    paths[std::string(route.pattern)][verb] = OperationOf(route, pool, &schemas);
  }
  paths["/v1/session"] = SessionPath(pool, &schemas);
  paths["/v1/stream"] = StreamPath();
  paths["/v1/openapi.json"] = DescriptionPath();

  Json document{{"openapi", "3.1.0"}};
  document["info"] = {{"title", "Glim"}, {"version", std::to_string(proto::kJsonVersion)}, {"description", kAbout}};
  document["info"]["license"] = {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}};
  document["servers"] = Json::array({{{"url", "/"}}});
  document["paths"] = std::move(paths);
  Json& components = document["components"];
  components["securitySchemes"] = SecuritySchemes();
  components["parameters"] = SharedParameters();
  components["headers"]["ETag"] = {{"description", "Of these very bytes."}, {"schema", {{"type", "string"}}}};
  components["responses"] = Refusals();
  components["schemas"] = schemas.Components();
  return document;
}

std::string LaidOut(const Json& value) {
  std::string text;
  Lay(value, kLineMax, "", &text);
  return text + "\n";
}

}  // namespace glim::gateway
