#include "nodeagent/programs/image/image_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"
#include "sdk/snapshot/sha256.h"

namespace glim::nodeagent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ImageConfig : public ::testing::Test {
 protected:
  ImageConfig() { std::filesystem::create_directories(folder_ + "/blobs/sha256"); }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/" + name, text, Durability::kProcess).ok());
  }
  std::string Blob(const std::string& text) {
    const std::string digest = snapshot::Sha256Hex(text);
    Write("blobs/sha256/" + digest, text);
    return "sha256:" + digest;
  }
  // Returns the manifest's digest.
  std::string Layout(const std::string& config) {
    std::string manifest = Blob("{\"config\":{\"digest\":\"" + Blob(config) + "\"}}");
    Write("index.json", "{\"manifests\":[{\"digest\":\"" + manifest +
                            "\",\"annotations\":{\"org.opencontainers.image.ref.name\":\"image\"}}]}");
    return manifest;
  }
  std::string Refused(const std::string& config) {
    Layout(config);
    const Result<ImageFacts> facts = ReadImageConfig(folder_, "image");
    EXPECT_FALSE(facts.ok()) << config;
    EXPECT_EQ(facts.status().code(), StatusCode::kInvalidArgument);
    return facts.ok() ? "" : facts.status().message();
  }
  static std::string Of(const std::string& run) {
    return R"({"architecture":")" + OwnArchitecture() + R"(","os":"linux","config":)" + run + "}";
  }

  const TempFolder temp_;
  const std::string folder_ = temp_.path();
};

TEST_F(ImageConfig, TellsDigestEnvironmentAndWorkingDirectory) {
  const std::string digest = Layout(Of(R"({"Env":["PATH=/a:/b","EMPTY=","EQUALS=a=b"],"WorkingDir":"/work"})"));
  const Result<ImageFacts> facts = ReadImageConfig(folder_, "image");
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->digest, digest);
  EXPECT_EQ(facts->workdir, "/work");
  EXPECT_THAT(facts->env, ElementsAre(Pair("PATH", "/a:/b"), Pair("EMPTY", ""), Pair("EQUALS", "a=b")));
  EXPECT_FALSE(ReadImageConfig(folder_, "another").ok());
}

TEST_F(ImageConfig, OfAnImageThatSaysNothingIsEmpty) {
  Layout(Of(R"({"Env":null})"));
  const Result<ImageFacts> facts = ReadImageConfig(folder_, "image");
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_TRUE(facts->env.empty());
  EXPECT_EQ(facts->workdir, "");
}

TEST_F(ImageConfig, ThatCannotBeRunHereIsRefusedInWords) {
  EXPECT_THAT(Refused(R"({"architecture":"s390x","os":"linux"})"), HasSubstr("is for linux/s390x"));
  EXPECT_THAT(Refused(R"({"architecture":")" + OwnArchitecture() + R"(","os":"windows"})"), HasSubstr("windows"));
  EXPECT_THAT(Refused("no JSON"), HasSubstr("no JSON object"));
  EXPECT_THAT(Refused(Of(R"({"Env":["NO EQUALS"]})")), HasSubstr("is no variable"));
  EXPECT_THAT(Refused(Of(R"({"Env":["A\nB=c"]})")), HasSubstr("is no variable"));
  EXPECT_THAT(Refused(Of(R"({"Env":["A=\u0000"]})")), HasSubstr("is no variable"));
  EXPECT_THAT(Refused(Of(R"({"Env":"A=b"})")), HasSubstr("is no list"));
  EXPECT_THAT(Refused(Of(R"({"Env":[7]})")), HasSubstr("not as they have to be"));
  EXPECT_THAT(Refused(Of(R"({"Env":["A=)" + std::string(70'000, 'x') + R"("]})")), HasSubstr("too large"));
  EXPECT_THAT(Refused(Of(R"({"WorkingDir":"../up"})")), HasSubstr("working directory"));
  Write("index.json", R"({"manifests":[{"digest":"sha256:../../etc/passwd","annotations":)"
                      R"({"org.opencontainers.image.ref.name":"image"}}]})");
  EXPECT_THAT(ReadImageConfig(folder_, "image").status().message(), HasSubstr("without SHA-256"));
}

}  // namespace
}  // namespace glim::nodeagent
