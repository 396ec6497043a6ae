// The dashboard's files: what is served, and what is not.
#include "scheduler/gateway/static_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glim::gateway {
namespace {

using ::testing::HasSubstr;

class StaticFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "glim-web-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    Put("root/index.html", "<html>start</html>");
    Put("root/assets/index-B3f9ab12.js", "run()");
    Put("root/plain.css", "a{}");
    Put("root/.env", "secret");
    Put("root/.git/config", "secret");
    Put("outside.txt", "secret");
    std::filesystem::create_symlink(folder_ / "outside.txt", folder_ / "root" / "link.txt");
    std::filesystem::create_directory_symlink(folder_, folder_ / "root" / "up");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  HttpAnswer Get(const std::string& path, NamedTexts headers = {}) {
    if (!files_) {
      auto read = StaticFiles::Read((folder_ / "root").string());
      EXPECT_TRUE(read.ok()) << read.status().message();
      files_ = std::move(read).value();
    }
    HttpRequest request;
    request.verb = "GET";
    request.path = path;
    request.headers = std::move(headers);
    return files_->Answer(request);
  }
  static std::string HeaderOf(const HttpAnswer& answer, const std::string& name) {
    for (const auto& [header, value] : answer.headers) {
      if (header == name) return value;
    }
    return "";
  }

  std::filesystem::path folder_;
  std::unique_ptr<StaticFiles> files_;
};

TEST_F(StaticFilesTest, ServesWhatIsThere) {
  const HttpAnswer start = Get("/");
  EXPECT_EQ(*start.body, "<html>start</html>");
  EXPECT_EQ(start.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(HeaderOf(start, "Cache-Control"), "no-cache");
  const HttpAnswer script = Get("/assets/index-B3f9ab12.js");
  EXPECT_EQ(script.content_type, "text/javascript; charset=utf-8");
  EXPECT_THAT(HeaderOf(script, "Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(Get("/plain.css", {{"if-none-match", HeaderOf(Get("/plain.css"), "ETag")}}).status, 304);
}

TEST_F(StaticFilesTest, ServesNothingElse) {
  for (const char* path :
       {"/.env", "/.git/config", "/link.txt", "/up/outside.txt", "/../outside.txt", "/%2e%2e/outside.txt",
        "/assets/../../outside.txt", "/assets/..%2f..%2foutside.txt", "//etc/passwd", "/none.js", "/assets", "/%zz"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST_F(StaticFilesTest, PagesOfAnApplicationAreItsStartPage) {
  const NamedTexts browser = {{"accept", "text/html,application/xhtml+xml"}};
  EXPECT_EQ(*Get("/jobs/7", browser).body, "<html>start</html>");
  EXPECT_EQ(Get("/jobs/7").status, 404);
  EXPECT_EQ(Get("/none.js", browser).status, 404);
}

TEST_F(StaticFilesTest, AFolderWithoutAStartPageIsRefused) {
  std::filesystem::create_directories(folder_ / "empty");
  for (const char* name : {"empty", "missing", "outside.txt"}) {
    const auto read = StaticFiles::Read((folder_ / name).string());
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().reason(), "BAD_WEB_ROOT");
    EXPECT_EQ(read.status().field(), "web_root");
    EXPECT_FALSE(read.status().fix().empty());
  }
}

TEST(HasHashInName, IsWhatBuildToolsWrite) {
  EXPECT_TRUE(HasHashInName("/assets/index-B3f9ab12.js"));
  EXPECT_TRUE(HasHashInName("/app.3f2a9b1c.css"));
  EXPECT_FALSE(HasHashInName("/index.html"));
  EXPECT_FALSE(HasHashInName("/my-component.js"));
  EXPECT_FALSE(HasHashInName("/a-b.js"));
  EXPECT_FALSE(HasHashInName("/README"));
}

}  // namespace
}  // namespace glim::gateway
