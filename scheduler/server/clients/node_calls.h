// The calls of AdminApi about nodes' identities: from the door to the room nodes and back. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include "glim/v1/admin_api.pb.h"
#include "scheduler/server/door/door.h"
#include "scheduler/server/nodes/ca_rotation.h"
#include "scheduler/server/nodes/node_affairs.h"

namespace glim::server {

grpc::ServerUnaryReactor* InviteNode(Door* door, NodeAffairs* nodes, grpc::CallbackServerContext* context,
                                     const v1::InviteNodeRequest& request, v1::InviteNodeResponse* response);
grpc::ServerUnaryReactor* RevokeNode(Door* door, NodeAffairs* nodes, grpc::CallbackServerContext* context,
                                     const v1::RevokeNodeRequest& request, v1::RevokeNodeResponse* response);
grpc::ServerUnaryReactor* LabelNode(Door* door, NodeAffairs* nodes, grpc::CallbackServerContext* context,
                                    const v1::LabelNodeRequest& request, v1::LabelNodeResponse* response);
grpc::ServerUnaryReactor* RotateCa(Door* door, CaRotation* rotation, grpc::CallbackServerContext* context,
                                   const v1::RotateCaRequest& request, v1::RotateCaResponse* response);

}  // namespace glim::server
