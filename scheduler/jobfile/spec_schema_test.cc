// deploy/job.schema.json (for editors) and the reader say the same: keys, words, bounds and defaults. So do
// the examples of docs/job-spec.md.
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scheduler/jobfile/spec_keys.h"
#include "scheduler/jobfile/spec_reader.h"
#include "sdk/base/testing/folders.h"
#include "sdk/task_environment/variables.h"

namespace glim::jobfile {
namespace {

using nlohmann::json;

json Schema() {
  std::ifstream file(SourceFile("deploy/job.schema.json"));
  return json::parse(file);
}

// The schema's object for a section; that of "mounts[]" describes the items of a list.
const json& Object(const json& schema, std::string_view section) {
  if (section.empty()) return schema;
  const bool items = section.ends_with("[]");
  const json& found = schema["properties"][std::string(section.substr(0, section.size() - (items ? 2 : 0)))];
  return items ? found["items"] : found;
}

const json& Properties(const json& schema, std::string_view section) { return Object(schema, section)["properties"]; }

TEST(JobSchema, HasExactlyTheKeysThatAreSupported) {
  const json schema = Schema();
  for (const SpecSection& section : SpecSections()) {
    std::set<std::string> ours;
    for (const SpecKey& key : section.keys) {
      if (key.kind != KeyKind::kRefused) ours.insert(std::string(key.name));
    }
    std::set<std::string> theirs;
    for (const auto& [name, value] : Properties(schema, section.path).items()) theirs.insert(name);
    EXPECT_EQ(ours, theirs) << section.path;
    EXPECT_EQ(Object(schema, section.path)["additionalProperties"], false) << section.path;
  }
  EXPECT_EQ(schema["required"], json({"name", "run"}));
}

// Every word of every enumeration is taken by the reader, and a word that is not there is not.
TEST(JobSchema, EveryWordIsTaken) {
  const json schema = Schema();
  int words = 0;
  for (const SpecSection& section : SpecSections()) {
    for (const auto& [name, value] : Properties(schema, section.path).items()) {
      const json list =
          value.contains("enum") ? value["enum"] : value.value("items", json::object()).value("enum", json());
      if (!list.is_array()) continue;
      std::vector<json> tries(list.begin(), list.end());
      tries.push_back("no-such-word");
      for (const json& word : tries) {
        json spec = {{"name", "a"}, {"run", "x"}};
        json& target = section.path.empty() ? spec : spec[std::string(section.path)];
        if (section.path == "notify") target["to"] = {"chat"};  // whom: `on` alone says half
        target[name] = value.contains("enum") ? word : json::array({word});
        // JSON is YAML.
        EXPECT_EQ(ReadSpecs(spec.dump(), {"schema", "/"}).ok(), word != "no-such-word") << spec.dump();
        ++words;
      }
    }
  }
  EXPECT_GT(words, 30);
}

TEST(JobSchema, BoundsAreTheReaders) {
  const json schema = Schema();
  const auto takes = [](const std::string& section, const std::string& key, std::int64_t number) {
    json spec = {{"name", "a"}, {"run", "x"}};
    (section.empty() ? spec : spec[section])[key] = number;
    return ReadSpecs(spec.dump(), {"schema", "/"}).ok();
  };
  int bounds = 0;
  for (const SpecSection& section : SpecSections()) {
    for (const auto& [name, value] : Properties(schema, section.path).items()) {
      if (value.value("type", json()) != "integer") continue;
      const std::string path(section.path);
      EXPECT_TRUE(takes(path, name, value["minimum"])) << name;
      EXPECT_TRUE(takes(path, name, value["maximum"])) << name;
      EXPECT_FALSE(takes(path, name, value["minimum"].get<std::int64_t>() - 1)) << name;
      EXPECT_FALSE(takes(path, name, value["maximum"].get<std::int64_t>() + 1)) << name;
      ++bounds;
    }
  }
  EXPECT_EQ(bounds, 5);
}

// Writing out every default of the schema changes nothing.
TEST(JobSchema, DefaultsAreTheReaders) {
  const json schema = Schema();
  json spec = {{"name", "a"}, {"run", "x"}};
  int defaults = 0;
  for (const SpecSection& section : SpecSections()) {
    for (const auto& [name, value] : Properties(schema, section.path).items()) {
      if (!value.contains("default")) continue;
      (section.path.empty() ? spec : spec[std::string(section.path)])[name] = value["default"];
      ++defaults;
    }
  }
  EXPECT_GE(defaults, 17);
  const auto written = ReadSpecs(spec.dump(), {"schema", "/"});
  const auto left_out = ReadSpecs("{name: a, run: x}", {"schema", "/"});
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->at(0).SerializeAsString(), left_out->at(0).SerializeAsString());
}

// A string with a pattern in the schema is what the reader takes, too: names, variables, dependencies, checkpoint.dir.
TEST(JobSchema, PatternsAreTheReaders) {
  const json schema = Schema();
  const json& properties = schema["properties"];
  const auto matches = [](const json& at, const std::string& text) {
    return std::regex_search(text, std::regex(at["pattern"].get<std::string>()));
  };
  const auto takes = [](const json& part) {
    json spec = {{"name", "a"}, {"run", "x"}};
    spec.update(part);
    return ReadSpecs(spec.dump(), {"schema", "/"}).ok();
  };
  for (const char* name : {"a", "7", "_", "a.b-c", "..", ".a", "-a", "a b"}) {
    EXPECT_EQ(matches(schema["definitions"]["name"], name), takes({{"name", name}})) << name;
  }
  std::vector<std::string> variables = {"A", "_b", "1A", "A.B", "GLIM_X", "PATH"};
  for (const TaskVariableInfo& info : kTaskVariables) variables.push_back(info.name);
  for (const std::string& name : variables) {
    EXPECT_EQ(matches(properties["env"]["propertyNames"], name), takes({{"env", {{name, "x"}}}})) << name;
  }
  for (const char* after : {"812", "812:ok", "812:any:keep", "812:keep", "812:ok:kept", "812:", "0:ok", "x"}) {
    EXPECT_EQ(matches(properties["after"]["items"], after), takes({{"after", {after}}})) << after;
  }
  for (const char* dir : {"/c/${GLIM_JOB_ID}", "/c/$GLIM_JOB_ID", "/c/${GLIM_JOB_NAME}/x", "c"}) {
    EXPECT_EQ(matches(properties["checkpoint"]["properties"]["dir"], dir), takes({{"checkpoint", {{"dir", dir}}}}))
        << dir;
  }
}

// Every example of the manual is a spec that can be submitted.
TEST(JobSpecManual, ExamplesAreGood) {
  std::ifstream file(SourceFile("docs/job-spec.md"));
  ASSERT_TRUE(file.good());
  std::string block;
  bool inside = false;
  int examples = 0;
  for (std::string line; std::getline(file, line);) {
    if (line == "```yaml") {
      inside = true;
      block.clear();
    } else if (inside && line == "```") {
      inside = false;
      ++examples;
      const auto specs = ReadSpecs(block, {"docs/job-spec.md", "/"});
      EXPECT_TRUE(specs.ok()) << block << (specs.ok() ? "" : specs.status().message());
    } else if (inside) {
      block += line + "\n";
    }
  }
  EXPECT_GE(examples, 3);
}

}  // namespace
}  // namespace glim::jobfile
