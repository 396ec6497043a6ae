// For tests: the variables of two ranks, as files that readers in C++ and in Python are tried with: per_gpu.env (rank 3
// of a gang in two zones, with everything that may be set) and per_node.env (a gang of one node, with as little as
// possible). A line is NAME=VALUE.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

#include "sdk/base/testing/folders.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::testing {

inline TaskVariables ReadSample(const std::string& name) {
  const std::string path = SourceFile("sdk/task_environment/testing/") + name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  TaskVariables variables;
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return variables;
}

}  // namespace glim::testing
