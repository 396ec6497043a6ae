#include "scheduler/store/open_store.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scheduler/store/postgres/postgres_conninfo.h"
#include "scheduler/store/testing/temp_dir.h"

namespace glim::store {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OpenStore, OpensByUrl) {
  const TempDir dir;
  EXPECT_STREQ(OpenStore("memory").value()->name(), "memory");
  EXPECT_STREQ(OpenStore("sqlite:" + dir.File("s.db")).value()->name(), "sqlite");
}

TEST(OpenStore, RefusesWhatNamesNoStore) {
  for (const std::string url : {"", "sqlite", "sqlite:", "sqlite::memory:", "mysql:x", "/var/lib/glim.db", "Memory",
                                "postgres:host", "postgres:no_such_keyword=1"}) {
    const auto opened = OpenStore(url);
    ASSERT_FALSE(opened.ok()) << url;
    EXPECT_EQ(opened.status().code(), StatusCode::kInvalidArgument) << url;
    EXPECT_EQ(opened.status().field(), "store") << url;
    EXPECT_FALSE(opened.status().fix().empty()) << url;
  }
}

TEST(OpenStore, RefusesAPasswordInTheUrlAndDoesNotRepeatIt) {
  for (const std::string url : {"postgres:host=db password=hunter2", "postgres:host=db sslpassword=hunter2",
                                "postgres://u:hunter2@db/glim", "postgresql://u:hunter2@db/glim",
                                "postgresql://u@db/glim?password=hunter2", "postgres:password=hunter2 nonsense"}) {
    const auto opened = OpenStore(url);
    ASSERT_FALSE(opened.ok()) << url;
    EXPECT_EQ(opened.status().code(), StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(opened.status().message(), Not(HasSubstr("hunter2")));
    EXPECT_THAT(opened.status().fix(), Not(HasSubstr("hunter2")));
  }
}

TEST(PostgresConnInfo, BoundsEveryWaitUnlessTold) {
  const auto plain = PostgresConnInfo("host=/run/postgresql dbname=glim");
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_THAT(*plain, HasSubstr("host='/run/postgresql'"));
  EXPECT_THAT(*plain, HasSubstr("connect_timeout='5'"));
  EXPECT_THAT(*plain, HasSubstr("target_session_attrs='read-write'"));
  const auto told = PostgresConnInfo("postgresql://u@db/glim?connect_timeout=9&application_name=it%27s");
  ASSERT_TRUE(told.ok()) << told.status().message();
  EXPECT_THAT(*told, HasSubstr("connect_timeout='9'"));
  EXPECT_THAT(*told, HasSubstr("application_name='it\\'s'"));
}

TEST(PostgresConnInfo, ReadsAPrivateFileWithAPassword) {
  const TempDir dir;
  const std::string path = dir.File("pg.conf");
  std::ofstream(path) << "host=db user=glim\npassword='s3 cret'\n";
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const auto open_to_others = PostgresConnInfo("file=" + path);
  EXPECT_EQ(open_to_others.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(open_to_others.status().fix(), HasSubstr("chmod 600"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const auto read = PostgresConnInfo("file=" + path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(*read, HasSubstr("password='s3 cret'"));
  EXPECT_EQ(PostgresConnInfo("file=" + dir.File("missing")).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PostgresConnInfo("file=" + dir.path()).status().code(), StatusCode::kInvalidArgument);
  std::ofstream(path) << std::string(70'000, ' ');
  EXPECT_THAT(PostgresConnInfo("file=" + path).status().message(), HasSubstr("too large"));
}

}  // namespace
}  // namespace glim::store
