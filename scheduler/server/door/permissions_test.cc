// Each method of every service in the protocol says who may call it, and what it says is sound.
#include "scheduler/server/door/permissions.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "scheduler/server/door/testing/permissions_page.h"
#include "sdk/base/testing/folders.h"

namespace glim::server {
namespace {

std::set<std::string> MethodsOfTheProtocol() {
  std::vector<std::string> names;
  google::protobuf::DescriptorPool::internal_generated_database()->FindAllFileNames(&names);
  std::set<std::string> methods;
  for (const std::string& name : names) {
    if (!name.starts_with("glim/")) continue;
    const auto* const file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(name);
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.insert("/" + file->service(s)->full_name() + "/" + file->service(s)->method(m)->name());
      }
    }
  }
  return methods;
}

// Also one of a service that methods.cc does not list.
TEST(Permissions, EachMethodSaysWhoMayCallIt) {
  std::set<std::string> rows;
  for (const Permission& row : Permissions()) rows.insert(row.method);
  const std::set<std::string> methods = MethodsOfTheProtocol();
  const auto without =
      std::count_if(methods.begin(), methods.end(), [&](const auto& one) { return !rows.contains(one); });
  RecordProperty("methods", static_cast<int>(methods.size()));  // of both tests/bench/run identity tells
  RecordProperty("methods_without_a_row", static_cast<int>(without));
  EXPECT_THAT(rows, ::testing::ContainerEq(methods));
}

TEST(Permissions, WhatIsNamedNowhereIsNobodys) {
  EXPECT_EQ(FindPermission("/glim.v1.ClientApi/SubmitAll"), nullptr);
  EXPECT_EQ(FindPermission("/glim.v1.ClientApi/"), nullptr);
  EXPECT_EQ(FindPermission(""), nullptr);
  EXPECT_EQ(Permission{}.least, core::Role::kAdmin) << "rights that say nothing are an admin's";
}

TEST(Permissions, RowsAreSound) {
  for (const Permission& row : Permissions()) {
    const bool users = row.callers == Callers::kUsers;
    if (!users) {
      EXPECT_EQ(row.ownership, Ownership::kNone) << row.method << ": whose things it is about is asked of users alone";
      EXPECT_FALSE(row.jobs) << row.method << ": a job's token is a user's";
    }
    // What changes something is told; what is read is not.
    const bool changes = row.audited;
    if (users && changes && row.method != "/glim.v1.AdminApi/RevokeToken") {
      EXPECT_GE(row.scope, core::Scope::kSubmit) << row.method << ": a token to read with changes nothing";
    }
    if (row.least >= core::Role::kOperator || row.method.starts_with("/glim.v1.AdminApi/")) {
      EXPECT_FALSE(row.jobs) << row.method << ": a job's token operates nothing";
    }
  }
}

// A question about one job goes by the job's owner: each request with a job_id is asked whose that is.
TEST(Permissions, EachRequestWithAJobAsksWhoseItIs) {
  for (const Permission& row : Permissions()) {
    if (row.callers != Callers::kUsers) continue;
    std::string name(row.method.substr(1));
    name.replace(name.find('/'), 1, ".");
    const auto* const method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
    ASSERT_NE(method, nullptr) << name;
    const bool about_job = method->input_type()->FindFieldByName("job_id") != nullptr;
    if (about_job) {
      EXPECT_TRUE(row.ownership == Ownership::kTeam || row.ownership == Ownership::kPartly) << name;
    }
    if (row.ownership == Ownership::kTeam) {
      EXPECT_TRUE(about_job) << name;
    }
  }
}

TEST(Permissions, ThePageIsMadeFromTheTable) {
  const std::string path = SourceFile("docs/permissions.md");
  if (std::getenv("GLIM_GOLDEN_UPDATE") != nullptr) std::ofstream(path) << PermissionsPage();
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_EQ(page.str(), PermissionsPage()) << "write it anew: GLIM_GOLDEN_UPDATE=1";
}

}  // namespace
}  // namespace glim::server
