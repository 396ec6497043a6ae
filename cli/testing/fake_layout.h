// Pools, zones and links in the fake scheduler, and changes of many rows: noted, and done where they are of the layout.
#pragma once

#include "cli/testing/fake_state.h"
#include "glim/v1/layout_api.grpc.pb.h"

namespace glim::cli {

class FakeLayoutCalls : public glim::v1::LayoutApi::Service {
 public:
  explicit FakeLayoutCalls(FakeDesk* owner) : owner_(owner) {}

  grpc::Status ListLayout(grpc::ServerContext* context, const glim::v1::ListLayoutRequest* request,
                          glim::v1::ListLayoutResponse* response) override;
  grpc::Status ChangeRows(grpc::ServerContext* context, const glim::v1::ChangeRowsRequest* request,
                          glim::v1::ChangeRowsResponse* response) override;

 private:
  FakeDesk* owner_;
};

}  // namespace glim::cli
