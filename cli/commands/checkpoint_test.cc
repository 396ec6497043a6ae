// glim ckpt on real files, with no scheduler anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "cli/testing/run_glim.h"
#include "sdk/checkpoint/directory/testing/small_checkpoint.h"
#include "sdk/checkpoint/save/saver.h"

namespace glim::cli {
namespace {

namespace fs = std::filesystem;
using checkpoint::CheckpointId;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kSavedAtMs = 1'700'000'000'000;

// Tensors of a test: names, and float values that follow from a seed.
using Contents = std::vector<std::pair<std::string, std::vector<float>>>;

class CheckpointToolsTest : public testing::Test {
 protected:
  GlimResult Glim(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ckpt");
    GlimOptions options;
    options.env = {{"GLIM_SERVER", "127.0.0.1:1"}};  // nobody is there
    options.folder = folder_.path();
    return GlimProcess(std::move(arguments), options).Finish();
  }
  json Json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-o", "json"});
    return json::parse(Glim(std::move(arguments)).out);
  }

  void Save(const std::string& name, CheckpointId id, const Contents& contents) {
    checkpoint::SaverOptions options;
    options.path = At(name);
    options.job = "17";
    options.attempt = id.attempt;
    options.keep.newest = 100;
    auto saver = checkpoint::Saver::Create(options, [] { return kSavedAtMs; }).value();
    std::vector<checkpoint::SaveTensor> tensors;
    for (const auto& [tensor, values] : contents) {
      checkpoint::SaveTensor& saved = tensors.emplace_back();
      saved.info = {tensor, checkpoint::DType::kF32, {values.size()}};
      saved.data = std::as_bytes(std::span(values));
    }
    const auto handle = saver->SaveAsync(id.step, tensors, {{"epoch", "3"}}, {}).value();
    const auto report = handle->Wait();
    ASSERT_TRUE(report.ok()) << report.status().message();
  }
  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }
  // Turns one bit of the last byte of a checkpoint's shard.
  void Damage(const std::string& checkpoint) {
    for (const auto& entry : fs::directory_iterator(At(checkpoint))) {
      if (entry.path().extension() != ".safetensors") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(-1, std::ios::end);
      const char last = static_cast<char>(file.get() ^ 1);
      file.seekp(-1, std::ios::end);
      file.put(last);
    }
  }

  checkpoint::TestFolder folder_;
  const Contents contents_ = {{"model.weight", {1, 2, 3}}, {"model.bias", {4}}, {"step", {5}}};
};

TEST_F(CheckpointToolsTest, LsShowsWhichCount) {
  Save("ckpt", {1, 10}, contents_);
  Save("ckpt", {2, 20}, contents_);
  // A stale task's, published after attempt 2 began.
  fs::copy(At("ckpt/attempt-1/step-00000010"), At("ckpt/attempt-1/step-00000030"), fs::copy_options::recursive);
  fs::create_directory(At("ckpt/attempt-2/step-00000040"));
  std::ofstream(At("ckpt/attempt-2/step-00000040/manifest.json")) << "{}";
  const GlimResult result = Glim({"ls", "ckpt"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("CHECKPOINT               STATE"));
  EXPECT_THAT(result.out, HasSubstr("attempt-1/step-00000010  counts"));
  EXPECT_THAT(result.out, HasSubstr("attempt-2/step-00000040  bad"));
  const json rows = Json({"ls", "ckpt"})["checkpoints"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["path"], fs::canonical(At("ckpt")).string() + "/attempt-1/step-00000010");
  EXPECT_EQ(rows[0]["counts"], true);
  EXPECT_EQ(rows[0]["tensors"], 3);
  EXPECT_EQ(rows[0]["created_at"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(rows[1]["counts"], false);
  EXPECT_NE(rows[1]["fault"], nullptr) << "its manifest is of another step";
  EXPECT_EQ(rows[2]["newest"], false);
  EXPECT_EQ(rows[3]["newest"], true) << "the rule is about names; that it is bad shows beside";
  EXPECT_NE(rows[3]["fault"], nullptr);
}

TEST_F(CheckpointToolsTest, LsOfNothing) {
  fs::create_directory(At("empty"));
  const GlimResult empty = Glim({"ls", "empty"});
  EXPECT_EQ(empty.exit_code, 0);
  EXPECT_EQ(empty.out, "");
  EXPECT_EQ(empty.err, "no checkpoints in " + fs::canonical(At("empty")).string() + "\n");
  EXPECT_EQ(Json({"ls", "empty"})["checkpoints"], json::array());
  EXPECT_EQ(Glim({"ls", "absent"}).exit_code, 3);
  std::ofstream(At("file")) << "x";
  EXPECT_EQ(Glim({"ls", "file"}).exit_code, 6);
}

TEST_F(CheckpointToolsTest, ShowTakesAPathALinkOrTheNewest) {
  Save("ckpt", {1, 10}, contents_);
  Save("ckpt", {1, 20}, contents_);
  const GlimResult newest = Glim({"show", "ckpt"});
  EXPECT_EQ(newest.exit_code, 0);
  EXPECT_THAT(newest.out, AllOf(HasSubstr("/ckpt/attempt-1/step-00000020\nstep 20 of attempt 1, saved"),
                                HasSubstr("by 1 rank: "), HasSubstr("of 3 tensors in 1 shard\nepoch: 3\nTENSOR"),
                                HasSubstr("model.weight  F32   [3]    12 bytes       1  shard-00000-of-00001")));
  EXPECT_EQ(Glim({"show", "ckpt/latest"}).out, newest.out);
  EXPECT_THAT(Glim({"show", "ckpt/attempt-1/step-00000010/"}).out, HasSubstr("step 10 of attempt 1"));
  const json shown = Json({"show", "ckpt"})["checkpoint"];
  EXPECT_EQ(shown["metadata"]["epoch"], "3");
  EXPECT_EQ(shown["tensors"][1]["name"], "model.weight");
  EXPECT_EQ(shown["tensors"][1]["shape"], json({3}));
  EXPECT_EQ(shown["tensors"][1]["pieces"][0]["bytes"], 12);
  EXPECT_EQ(Glim({"show", "ckpt/attempt-1/step-00000099"}).exit_code, 3);
}

TEST_F(CheckpointToolsTest, ShowOfSomeTensors) {
  Save("ckpt", {1, 10}, contents_);
  const std::string out = Glim({"show", "ckpt", "--tensor", "model.*"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("\nmodel.bias "), HasSubstr("\nmodel.weight "), Not(HasSubstr("\nstep  "))));
  const GlimResult none = Glim({"show", "ckpt", "--tensor", "nothing"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("no tensor of"));
}

TEST_F(CheckpointToolsTest, VerifyReadsEveryByte) {
  Save("ckpt", {1, 10}, contents_);
  Save("ckpt", {1, 20}, contents_);
  EXPECT_EQ(Glim({"verify", "ckpt"}).exit_code, 0);
  Damage("ckpt/attempt-1/step-00000010");
  EXPECT_EQ(Glim({"verify", "ckpt"}).exit_code, 0) << "the newest";
  const GlimResult bad = Glim({"verify", "ckpt/attempt-1/step-00000010"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("bad   " + fs::canonical(At("ckpt")).string() + "/attempt-1/step-00000010"));
  EXPECT_THAT(bad.err, HasSubstr("step")) << "the tensor that lies last";
  const GlimResult all = Glim({"verify", "--all", "ckpt"});
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_THAT(all.err, HasSubstr("1 of 2 checkpoints are bad"));
  const json verdicts = Json({"verify", "--all", "ckpt"})["checkpoints"];
  EXPECT_EQ(verdicts[0]["good"], false);
  EXPECT_EQ(verdicts[1]["good"], true);
  EXPECT_EQ(verdicts[1]["fault"], nullptr);
}

TEST_F(CheckpointToolsTest, DiffOfTheSame) {
  Save("ckpt", {1, 10}, contents_);
  Save("other", {7, 3}, contents_);
  const GlimResult result = Glim({"diff", "ckpt", "other"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "all 3 tensors are the same\n");
  EXPECT_EQ(Json({"diff", "ckpt", "other"})["same"], 3);
}

TEST_F(CheckpointToolsTest, DiffNamesWhatDiffers) {
  Save("ckpt", {1, 10}, contents_);
  Save("ckpt", {1, 20}, {{"model.weight", {1, 2, 4}}, {"model.bias", {4, 4}}, {"more", {1}}});
  const GlimResult result = Glim({"diff", "ckpt/attempt-1/step-00000010", "ckpt"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out,
            "TENSOR        CHANGE       BEFORE   AFTER\n"
            "model.bias    other shape  F32 [1]  F32 [2]\n"
            "model.weight  other data   F32 [3]  F32 [3]\n"
            "more          added        -        F32 [1]\n"
            "step          removed      F32 [1]  -\n");
  EXPECT_THAT(result.err, HasSubstr("4 of 4 tensors differ  [DIFFERENT]"));
  const json changes = Json({"diff", "ckpt/attempt-1/step-00000010", "ckpt"})["changes"];
  EXPECT_EQ(changes[2]["before"], nullptr);
  EXPECT_EQ(changes[2]["after"]["dtype"], "F32");
}

// Each of two ranks holds half of the rows: two pieces, where one rank alone writes one.
TEST_F(CheckpointToolsTest, DiffOfTensorsThatAreCutOtherwiseReadsThem) {
  const auto save_halves = [&](const std::string& name, const std::vector<float>& values) {
    std::vector<std::unique_ptr<checkpoint::Saver>> savers;
    std::vector<std::shared_ptr<checkpoint::SaveHandle>> handles;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      checkpoint::SaverOptions options;
      options.path = At(name);
      options.job = "17";
      options.rank = rank;
      options.world = 2;
      savers.push_back(checkpoint::Saver::Create(options, [] { return kSavedAtMs; }).value());
      checkpoint::SaveTensor half;
      half.info = {"rows", checkpoint::DType::kF32, {values.size()}};
      half.placement = checkpoint::Placement::kRows;
      half.rows = {rank * values.size() / 2, values.size() / 2};
      half.data = std::as_bytes(std::span(values).subspan(half.rows.first, half.rows.count));
      handles.push_back(savers.back()->SaveAsync(1, {&half, 1}, {}, {}).value());
    }
    for (const auto& handle : handles) EXPECT_TRUE(handle->Wait().ok());
  };
  Save("whole", {1, 1}, {{"rows", {1, 2, 3, 4}}});
  save_halves("same", {1, 2, 3, 4});
  save_halves("other", {1, 2, 3, 5});
  EXPECT_EQ(Glim({"diff", "whole", "same"}).exit_code, 0);
  EXPECT_THAT(Glim({"diff", "whole", "other"}).out, HasSubstr("rows    other data  F32 [4]  F32 [4]"));
  Damage("same/attempt-1/step-00000001");
  const GlimResult damaged = Glim({"diff", "whole", "same"});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, Not(HasSubstr("DIFFERENT"))) << "bad is not different";
}

TEST_F(CheckpointToolsTest, ConvertIsThePythonPackages) {
  // In its place one that says what it was asked.
  fs::create_directory(At("glim"));
  std::ofstream(At("glim/__init__.py"));
  std::ofstream(At("glim/checkpoint_convert.py")) << "import sys; print(sys.argv[1:]); sys.exit(9)";
  const GlimResult result = Glim({"convert", "from-torch", "a.pt", "b", "--step", "7", "--trust"});
  EXPECT_EQ(result.out, "['from-torch', '--trust', '--step=7', '--', 'a.pt', 'b']\n");
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_EQ(Glim({"convert", "to-onnx", "a", "b"}).exit_code, 2);
  EXPECT_EQ(Glim({"convert", "to-torch", "a"}).exit_code, 2);
}

}  // namespace
}  // namespace glim::cli
