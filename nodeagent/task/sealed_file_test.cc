#include "nodeagent/task/sealed_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

class SealedFileTest : public testing::Test {
 protected:
  SealedFileTest() {
    char name[] = "/tmp/glim-sealed-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/a.json";
  }
  ~SealedFileTest() override { std::filesystem::remove_all(folder_); }
  StatusCode ReadOf(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadSealed(path_, 1 << 20).status().code();
  }
  std::string folder_;
  std::string path_;
};

TEST_F(SealedFileTest, IsJsonForAnyReader) {
  ASSERT_TRUE(WriteSealed(path_, R"({"a":1,"b":"}"})", Durability::kMachine).ok());
  const auto text = ReadSealed(path_, 1 << 20);
  ASSERT_TRUE(text.ok());
  const auto value = nlohmann::json::parse(*text);
  EXPECT_EQ(value.at("a"), 1);
  EXPECT_EQ(value.at("b"), "}");
  EXPECT_EQ(value.at("checksum").get<std::string>().size(), 16u);
}

TEST_F(SealedFileTest, AnyOtherByteIsNoticed) {
  ASSERT_TRUE(WriteSealed(path_, R"({"a":12345,"b":"word"})", Durability::kProcess).ok());
  const std::string whole = *ReadFile(path_, 1 << 20);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = other[at] == 'x' ? 'y' : 'x';
    const bool noticed = ReadOf(other) == StatusCode::kDataLoss;
    EXPECT_TRUE(noticed || !nlohmann::json::accept(other) || other.find("\"checksum\"") == std::string::npos) << other;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const bool noticed = ReadOf(whole.substr(0, size)) == StatusCode::kDataLoss;
    EXPECT_TRUE(noticed || !nlohmann::json::accept(whole.substr(0, size))) << size;
  }
}

TEST_F(SealedFileTest, WhatAnEarlierVersionWroteIsBelieved) {
  EXPECT_EQ(ReadOf(R"({"format":1})"), StatusCode::kOk);
  EXPECT_EQ(ReadOf(""), StatusCode::kDataLoss);
  std::filesystem::remove(path_);
  EXPECT_EQ(ReadSealed(path_, 1 << 20).status().code(), StatusCode::kNotFound);
}

TEST_F(SealedFileTest, WhatIsSetAsideKeepsItsNameAndIsBounded) {
  for (int i = 1; i <= 30; ++i) {
    const std::string path = folder_ + "/tasks/7.1.0/launch.json";
    std::filesystem::create_directories(folder_ + "/tasks/7.1.0");
    std::ofstream(path) << i;
    const std::string place = SetAside(folder_, path);
    EXPECT_TRUE(place.starts_with(folder_ + "/set-aside/tasks_7.1.0_launch.json.")) << place;
    EXPECT_EQ(*ReadFile(place, 100), std::to_string(i));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  const std::filesystem::directory_iterator all(folder_ + "/set-aside");
  EXPECT_EQ(std::distance(begin(all), end(all)), 10);
  EXPECT_EQ(SetAside(folder_, folder_ + "/not-there"), "");
}

}  // namespace
}  // namespace glim::nodeagent
