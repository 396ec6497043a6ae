// The real program against a fake scheduler on a real socket: a folder and a server of its own for every test. Without
// TLS; identity_fixture.h has it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/testing/fake_server.h"
#include "cli/testing/run_glim.h"

namespace glim::cli {

// A job that is well described.
inline constexpr char kSpec[] = "apiVersion: glim/v1\nkind: Job\nname: sft\nnodes: 2\nrun: python train.py\n";

class CliTest : public testing::Test {
 protected:
  CliTest() {
    char name[] = "/tmp/glim-cli-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~CliTest() override { std::filesystem::remove_all(folder_); }

  GlimResult Glim(std::vector<std::string> arguments, std::string input = "") {
    return GlimProcess(std::move(arguments), Options(std::move(input))).Finish();
  }
  GlimOptions Options(std::string input = "") {
    GlimOptions options;
    options.env = env_;
    options.env.emplace("GLIM_SERVER", server_.address());
    options.env.emplace("GLIM_INSECURE_WITHOUT_IDENTITY", "true");
    options.folder = folder_;
    options.input = std::move(input);
    return options;
  }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  glim::v1::Job& AddJob(FakeState* state, std::uint64_t id, const std::string& job_state) {
    glim::v1::Job& job = state->jobs[id];
    job.set_id(id);
    job.set_state(job_state);
    job.set_user("kim");
    job.set_durable_step(-1);
    job.mutable_spec()->set_name("sft");
    job.mutable_spec()->set_nodes(2);
    job.mutable_spec()->set_gpus_per_node(8);
    return job;
  }
  void Refuse(const grpc::Status& status) { server_.Lock()->refusal = status; }

  FakeServer server_;
  std::string folder_;
  std::map<std::string, std::string> env_;
};

}  // namespace glim::cli
