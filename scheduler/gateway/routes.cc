#include "scheduler/gateway/routes.h"

#include <algorithm>

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
  for (const Route& route : kRoutes) {
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
