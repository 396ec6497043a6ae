#include "cli/testing/fake_layout.h"

namespace glim::cli {

using grpc::ServerContext;
using grpc::Status;
using namespace glim::v1;  // NOLINT(build/namespaces): a test double made of little else

Status FakeLayoutCalls::ListLayout(ServerContext* context, const ListLayoutRequest*, ListLayoutResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  *response = state->layout;
  return Status::OK;
}

Status FakeLayoutCalls::ChangeRows(ServerContext* context, const ChangeRowsRequest* request,
                                   ChangeRowsResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  if (!state->rows_refusal.ok()) return state->rows_refusal;
  state->row_changes.push_back(*request);
  response->set_meaning(state->row_meaning);
  response->set_state("as shown");
  return Status::OK;
}

}  // namespace glim::cli
