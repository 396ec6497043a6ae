// A field of glim.v1.JobSpec by its path ("interrupt.grace_ms"), as the table of keys (spec_keys.h) names it. A path
// that does not exist is a bug (CHECK). Writing one sets the messages around it; reading one that is not set gives
// proto3's default. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "glim/v1/job.pb.h"

namespace glim::jobfile {

void SetText(glim::v1::JobSpec* spec, std::string_view path, std::string value);
void SetNumber(glim::v1::JobSpec* spec, std::string_view path, std::int64_t value);
void SetFlag(glim::v1::JobSpec* spec, std::string_view path, bool value);
void AddText(glim::v1::JobSpec* spec, std::string_view path, std::string value);

std::string TextOf(const glim::v1::JobSpec& spec, std::string_view path);
std::int64_t NumberOf(const glim::v1::JobSpec& spec, std::string_view path);
bool FlagOf(const glim::v1::JobSpec& spec, std::string_view path);
std::vector<std::string> TextsOf(const glim::v1::JobSpec& spec, std::string_view path);

}  // namespace glim::jobfile
