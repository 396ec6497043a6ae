// docs/openapi.json says what the gateway does: it is made here, and compared with the kept one. What OpenAPI itself
// asks of a document tests/openapi checks.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "scheduler/gateway/openapi/document.h"
#include "scheduler/gateway/openapi_text.h"
#include "scheduler/gateway/routes.h"
#include "sdk/base/testing/folders.h"

namespace glim::gateway {
namespace {

using proto::Json;

std::string TextOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The schema as protoc read it, with its comments.
class OpenApi : public ::testing::Test {
 protected:
  void SetUp() override {
    google::protobuf::FileDescriptorSet files;
    ASSERT_TRUE(files.ParseFromString(TextOf(BuiltFile("scheduler/gateway/openapi/api.descriptors"))))
        << BuiltFile("scheduler/gateway/openapi/api.descriptors");
    for (const auto& file : files.file()) ASSERT_NE(pool_.BuildFile(file), nullptr) << file.name();
    document_ = OpenApiDocument(pool_);
  }

  const Json& Get(const std::string& pattern) const { return document_["paths"][pattern]["get"]; }
  const Json& Schema(const std::string& name) const { return document_["components"]["schemas"][name]; }

  google::protobuf::DescriptorPool pool_;
  Json document_;
};

// Each object that has a key of that name.
void ForEach(const Json& value, const std::string& key, const std::function<void(const Json&)>& each) {
  if (value.is_object() && value.contains(key)) each(value);
  if (!value.is_structured()) return;
  for (const Json& item : value) ForEach(item, key, each);
}

TEST_F(OpenApi, IsTheOneThatIsKept) {
  const std::string path = SourceFile("docs/openapi.json");
  if (std::getenv("GLIM_GOLDEN_UPDATE") != nullptr) std::ofstream(path) << LaidOut(document_);
  EXPECT_TRUE(TextOf(path) == LaidOut(document_)) << "write it anew: GLIM_GOLDEN_UPDATE=1, and look at the difference";
}

TEST_F(OpenApi, TheSchedulerHasIt) { EXPECT_EQ(TextOf(SourceFile("docs/openapi.json")), OpenApiText()); }

TEST_F(OpenApi, HasEachRouteAndEachOperationOnce) {
  std::set<std::string> ids;
  std::size_t operations = 0;
  ForEach(document_["paths"], "operationId", [&](const Json& operation) {
    ++operations;
    EXPECT_TRUE(ids.insert(operation["operationId"]).second) << operation["operationId"];
  });
  EXPECT_EQ(operations, Routes().size() + 5) << "and sessions, the stream, the description";
  EXPECT_TRUE(ids.contains("StreamEvents") && ids.contains("StreamEventsByJobId"));
}

TEST_F(OpenApi, WhatIsReferredToIsThere) {
  ForEach(document_, "$ref", [&](const Json& reference) {
    const auto& text = reference["$ref"].get_ref<const std::string&>();
    ASSERT_EQ(text[0], '#');
    EXPECT_TRUE(document_.contains(Json::json_pointer(text.substr(1)))) << text;
  });
}

TEST_F(OpenApi, EachDocumentBeginsWithItsVersion) {
  for (const auto& [name, schema] : document_["components"]["schemas"].items()) {
    if (name.ends_with("Response")) {
      EXPECT_EQ(schema["properties"].begin().key(), "version") << name;
      EXPECT_EQ(schema["required"][0], "version") << name;
    }
  }
  EXPECT_EQ(Schema("Event")["required"][0], "version") << "a line is a document";
}

TEST_F(OpenApi, ThePathsNamesAreParameters) {
  for (const auto& [pattern, path] : document_["paths"].items()) {
    for (const Json& operation : path) {
      std::size_t of_path = 0;
      for (const Json& parameter : operation.value("parameters", Json::array())) {
        if (parameter.value("in", "") != "path") continue;
        ++of_path;
        EXPECT_NE(pattern.find("{" + parameter["name"].get<std::string>() + "}"), std::string::npos) << pattern;
      }
      EXPECT_EQ(of_path, static_cast<std::size_t>(std::count(pattern.begin(), pattern.end(), '{'))) << pattern;
    }
  }
}

TEST_F(OpenApi, HasTheDialect) {
  const Json& job = Schema("Job")["properties"];
  EXPECT_EQ(job["id"], (Json{{"type", "integer"}, {"format", "uint64"}, {"minimum", 0}}));
  EXPECT_EQ(job["submitted_at"]["format"], "date-time");
  EXPECT_EQ(job["spec"]["anyOf"][1]["type"], "null") << "a message that is not set";
  EXPECT_EQ(job["gpus"]["type"], "integer") << "as the command line shows jobs";
  EXPECT_EQ(Schema("Launcher")["enum"], Json::array({"node", "per_gpu"}));
  EXPECT_EQ(Schema("HistoryReportRow")["properties"]["failures"]["additionalProperties"]["format"], "uint64");
  EXPECT_FALSE(Schema("JobSpecInput").contains("required")) << "what is left out has its default";
  EXPECT_EQ(Schema("JobSpecInput")["additionalProperties"], false) << "what there is not is refused";
  const Json& body = document_["paths"]["/v1/secrets/{name}"]["put"]["requestBody"]["content"]["application/json"];
  EXPECT_EQ(body["schema"]["properties"]["value"]["contentEncoding"], "base64");
  EXPECT_FALSE(body["schema"]["properties"].contains("name")) << "the path says it";
}

TEST_F(OpenApi, SaysWhoMayAndWhatTheProtocolSays) {
  const Json& drain = document_["paths"]["/v1/nodes/{node}/drain"]["post"];
  EXPECT_EQ(drain["summary"], "Drain node");
  EXPECT_NE(drain["description"].get<std::string>().find("Least role: operator"), std::string::npos);
  EXPECT_EQ(drain["security"][1].size(), 2U) << "a cookie counts with the CSRF token alone";
  EXPECT_EQ(Get("/v1/jobs")["security"][1].size(), 1U);
  EXPECT_TRUE(drain["description"].get<std::string>().starts_with("No job starts there;"));
  const Json& blocker = Schema("Blocker")["properties"];
  EXPECT_NE(blocker["kind"]["description"].get<std::string>().find("claiming"), std::string::npos) << "two lines";
  EXPECT_EQ(blocker["message"]["description"], "in words, with amounts");
  EXPECT_EQ(Get("/v1/login")["security"], Json::array({Json::object()})) << "without a token";
}

}  // namespace
}  // namespace glim::gateway
