// What comes over TLS to a gRPC server of this process goes through a FrameGuard before gRPC sees it.
//
// gRPC 1.51 lets nobody look between its TLS and its HTTP/2, so SSL_read, by which it takes what OpenSSL has decrypted,
// is this program's own function: it calls OpenSSL's, and lets the guard of that connection look. It is so wherever
// gRPC and OpenSSL are shared libraries, as Debian's are; a build in which gRPC finds another SSL_read answers no call
// (begun_calls.cc), rather than to answer without a guard. What else reads TLS (the gateway, clients of databases and
// issuers) is handed what comes as it is. Decision 54 has the reasons.
//
// Any thread.
#pragma once

namespace glim::server {

// Whether gRPC's connections are read through guards. True from the first of them on, so whenever there is a call.
bool ReadsAreGuarded();

}  // namespace glim::server
