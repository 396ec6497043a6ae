#include "scheduler/core/model/image_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace glim::core {
namespace {

using ::testing::HasSubstr;

const std::string kHex(64, 'a');
const std::string kAt = "@sha256:" + kHex;

ImageName Named(const std::string& text) {
  const Result<ImageName> image = ParseImageName(text);
  EXPECT_TRUE(image.ok()) << text << ": " << image.status().message();
  return image.ok() ? *image : ImageName{};
}

TEST(ImageName, IsTheNodesOwnSystemByDefault) { EXPECT_EQ(Named("host"), ImageName{}); }

TEST(ImageName, OfARegistryHasADigest) {
  const std::string digest = "sha256:" + kHex;
  EXPECT_EQ(Named("docker.io/library/debian" + kAt),
            (ImageName{ImageKind::kRegistry, "docker.io", "library/debian", "", digest, ""}));
  EXPECT_EQ(Named("docker://nvcr.io/nvidia/pytorch:24.10-py3" + kAt),
            (ImageName{ImageKind::kRegistry, "nvcr.io", "nvidia/pytorch", "24.10-py3", digest, ""}));
  EXPECT_EQ(Named("127.0.0.1:5000/a/b__c--d" + kAt),
            (ImageName{ImageKind::kRegistry, "127.0.0.1:5000", "a/b__c--d", "", digest, ""}));
  EXPECT_EQ(Named("localhost/x" + kAt).registry, "localhost");
}

TEST(ImageName, OfAFileIsAPathOfTheNodes) {
  EXPECT_EQ(Named("oci:/data/images/torch"), (ImageName{ImageKind::kOciFolder, "", "", "", "", "/data/images/torch"}));
  EXPECT_EQ(Named("oci:/data/torch:2.6"), (ImageName{ImageKind::kOciFolder, "", "", "2.6", "", "/data/torch"}));
  EXPECT_EQ(Named("docker-archive:/home/kim/a:b.tar").path, "/home/kim/a:b.tar") << "a file's name may have a colon";
  EXPECT_EQ(Named("sqfs:/home/kim/torch.sqsh").kind, ImageKind::kSquashfs);
}

struct Bad {
  std::string text;
  std::string words;
};

class BadImageName : public ::testing::TestWithParam<Bad> {};

TEST_P(BadImageName, IsRefusedWithTheFieldAndTheFix) {
  const Result<ImageName> image = ParseImageName(GetParam().text);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().field(), "image");
  EXPECT_THAT(image.status().message(), HasSubstr(GetParam().words));
  EXPECT_NE(image.status().fix(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadImageName,
    ::testing::Values(Bad{"", "names no registry"}, Bad{"debian", "names no registry"},
                      Bad{"library/debian:12", "names no registry"}, Bad{"-o/x" + kAt, "names no registry"},
                      Bad{"a.b:/x" + kAt, "names no registry"}, Bad{"a.b:123456/x" + kAt, "names no registry"},
                      Bad{"docker.io/library/debian:12", "a tag alone is not enough yet"},
                      Bad{"docker.io/library/debian", "a tag alone is not enough yet"},
                      Bad{"docker.io/x@sha256:abc", "is no digest"}, Bad{"docker.io/x@md5:" + kHex, "is no digest"},
                      Bad{"docker.io/Debian" + kAt, "is no name of an image"},
                      Bad{"docker.io/a//b" + kAt, "is no name of an image"},
                      Bad{"docker.io/../b" + kAt, "is no name of an image"},
                      Bad{"docker.io/a b" + kAt, "is no name of an image"}, Bad{"docker.io/a:-b" + kAt, "is no tag"},
                      Bad{"oci:torch", "is not a plain"}, Bad{"oci:/data/../etc", "is not a plain"},
                      Bad{"oci:/data:a b", "is no tag"}, Bad{"sqfs:", "is not a plain"},
                      Bad{"docker-archive:/a/", "is not a plain"}, Bad{std::string(2000, 'a'), "bytes are too many"}));

}  // namespace
}  // namespace glim::core
