// Matrices whose product is known: a GPU that multiplies wrong is found by it, bit for bit. Pure.
//
// Both matrices repeat their first kPeriod rows, so that of a product of any size kPeriod rows and columns are all that
// has to be worked out here (gpu_kernels.h says which operations, in which order).
#pragma once

#include <cstdint>
#include <vector>

namespace glim::validate {

// The first kPeriod rows of a matrix with `columns` columns. `seed` tells matrices apart.
std::vector<float> RowsF32(std::uint64_t seed, std::uint32_t columns);           // from -1 to 1
std::vector<std::uint16_t> RowsBf16(std::uint64_t seed, std::uint32_t columns);  // whole, from -2 to 2

// kPeriod by kPeriod numbers in single precision, as bits: what glim_multiply_f32 makes of these rows,
std::vector<std::uint32_t> ProductF32(const std::vector<float>& a, const std::vector<float>& b);
// and glim_multiply_bf16.
std::vector<std::uint32_t> ProductBf16(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b,
                                       std::uint32_t repeat);

}  // namespace glim::validate
