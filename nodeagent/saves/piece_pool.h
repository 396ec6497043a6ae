// Memory for the pieces of files that are being sent: kept and used again, since fresh pages cost as much as a copy.
// Thread-safe; a slice that outlives the pool keeps its own piece.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "sdk/threads/hand_over.h"

namespace glim::nodeagent {

class PiecePool : public std::enable_shared_from_this<PiecePool> {
 public:
  using Piece = std::unique_ptr<std::byte[]>;  // of `piece_bytes`

  static std::shared_ptr<PiecePool> Make(std::size_t piece_bytes, std::size_t kept_max) {
    return std::shared_ptr<PiecePool>(new PiecePool(piece_bytes, kept_max));
  }

  Piece Take() {
    std::lock_guard lock(mutex_);
    if (kept_.empty()) return Piece(new std::byte[piece_bytes_]);
    Piece piece = std::move(kept_.back());
    kept_.pop_back();
    return piece;
  }

  // The piece's first `bytes`; it comes back when the slice's last user has gone.
  grpc::Slice Lend(Piece piece, std::size_t bytes) {
    auto* loan = new Loan{shared_from_this(), std::move(piece)};
    std::byte* memory = loan->piece.get();
    HandOver(loan);  // gRPC gives it back on a thread of its own
    return {memory, bytes, &PiecePool::TakeBack, loan};
  }

 private:
  struct Loan {
    std::shared_ptr<PiecePool> pool;
    Piece piece;
  };

  PiecePool(std::size_t piece_bytes, std::size_t kept_max) : piece_bytes_(piece_bytes), kept_max_(kept_max) {}

  static void TakeBack(void* user_data) {
    TakeOver(user_data);
    const std::unique_ptr<Loan> loan(static_cast<Loan*>(user_data));
    std::lock_guard lock(loan->pool->mutex_);
    if (loan->pool->kept_.size() < loan->pool->kept_max_) loan->pool->kept_.push_back(std::move(loan->piece));
  }

  const std::size_t piece_bytes_;
  const std::size_t kept_max_;
  std::mutex mutex_;
  std::vector<Piece> kept_;
};

}  // namespace glim::nodeagent
