// How long a client of ggml-rpc waits for a silent server. Without a limit it would wait for a hung one for ever.
//
// The limit is 30 seconds until the server has introduced itself. Then it is the time of the longest graph: 600
// seconds, or H2O_RPC_TIMEOUT. Beyond it the call fails as if the connection had broken. A server waits for its clients
// without a limit.

#pragma once

#ifdef _WIN32
#include <winsock2.h>
#else
#include <sys/socket.h>
#include <sys/time.h>
#endif

#include <algorithm>
#include <cstdlib>

inline int limit_rpc_seconds() {
    const char * given   = std::getenv("H2O_RPC_TIMEOUT");
    const int    seconds = given ? std::atoi(given) : 0;
    return seconds > 0 ? std::min(seconds, 1000000) : 600;
}

template <typename sockfd_type>
void limit_rpc(sockfd_type sockfd, int seconds) {
#ifdef _WIN32
    const DWORD limit = 1000 * (DWORD) seconds;
#else
    const timeval limit = { seconds, 0 };
#endif
    setsockopt(sockfd, SOL_SOCKET, SO_RCVTIMEO, (const char *) &limit, sizeof(limit));
    setsockopt(sockfd, SOL_SOCKET, SO_SNDTIMEO, (const char *) &limit, sizeof(limit));
}

// of a client, before it connects
template <typename sockfd_type>
void limit_rpc_hello(sockfd_type sockfd) {
    limit_rpc(sockfd, std::min(30, limit_rpc_seconds()));
}

// behind HELLO, of a client and of a server, which has no limit before
template <typename sockfd_type>
void limit_rpc_work(sockfd_type sockfd) {
#ifdef _WIN32
    DWORD limit = 0;
    int   size  = sizeof(limit);
#else
    timeval   limit = {};
    socklen_t size  = sizeof(limit);
#endif
    getsockopt(sockfd, SOL_SOCKET, SO_RCVTIMEO, (char *) &limit, &size);
#ifdef _WIN32
    const bool is_client = limit != 0;
#else
    const bool is_client = limit.tv_sec != 0;
#endif
    if (is_client) {
        limit_rpc(sockfd, limit_rpc_seconds());
    }
}
