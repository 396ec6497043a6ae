#include "scheduler/gateway/routes.h"

#include <algorithm>
#include <tuple>

#include "proto/methods/methods.h"
#include "scheduler/gateway/http_types.h"

namespace glim::gateway {
namespace {

// The part up to the next '/', cut off.
std::string_view NextPart(std::string_view* rest) {
  const std::size_t end = std::min(rest->find('/'), rest->size());
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return part;
}

}  // namespace

const std::vector<Route>& Routes() {
  static const auto* const kRoutes = [] {
    auto* const routes = new std::vector<Route>;
    for (const google::protobuf::MethodDescriptor* const method : proto::Methods()) {
      int at = 0;
      for (auto& [verb, pattern] : proto::PathsOf(*method)) {
        const Form form = method->options().GetExtension(v1::http, at++).form();
        routes->push_back({verb, std::move(pattern), proto::ShortName(*method), form, method});
      }
    }
    std::sort(routes->begin(), routes->end(),
              [](const Route& a, const Route& b) { return std::tie(a.pattern, a.verb) < std::tie(b.pattern, b.verb); });
    return routes;
  }();
  return *kRoutes;
}

bool MatchPath(std::string_view pattern, std::string_view path,
               std::vector<std::pair<std::string, std::string>>* fields) {
  fields->clear();
  if (std::count(pattern.begin(), pattern.end(), '/') != std::count(path.begin(), path.end(), '/')) return false;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = NextPart(&pattern), part = NextPart(&path);
    if (!wanted.starts_with('{')) {
      if (wanted != part) return false;
      continue;
    }
    std::string value;
    if (part.empty() || !DecodePercent(part, false, &value)) return false;
    fields->emplace_back(wanted.substr(1, wanted.size() - 2), std::move(value));
  }
  return true;
}

Match FindRoute(std::string_view verb, std::string_view path) {
  Match match;
  const std::string_view wanted = verb == "HEAD" ? "GET" : verb;
  std::vector<std::pair<std::string, std::string>> fields;
  for (const Route& route : Routes()) {
    if (!MatchPath(route.pattern, path, &fields)) continue;
    match.verbs.push_back(route.verb);
    if (route.verb == "GET") match.verbs.push_back("HEAD");
    if (route.verb != wanted) continue;
    match.route = &route;
    match.fields = fields;
  }
  return match;
}

}  // namespace glim::gateway
