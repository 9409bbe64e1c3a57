// For tests: a blocking client that writes exactly the bytes it is given.
#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <cctype>
#include <string>
#include <string_view>

#include "base/json.h"

namespace hearth::server::testing {

struct Answered {
  int status = 0;
  std::string head;
  std::string body;
  Json json() const { return Json::parse(body); }
  bool says(std::string_view words) const { return body.find(words) != std::string::npos; }
};

class TestClient {
 public:
  explicit TestClient(int port) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), std::uint16_t(port)});
    const timeval limit{20, 0};  // a server that never answers fails the test, it does not hang it
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

  void send(std::string_view bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }

  /// A request with Host and, if there is a body, its length.
  void request(std::string_view method, std::string_view path, std::string_view body = {},
               std::string_view headers = {}) {
    std::string text = std::string(method) + " " + std::string(path) +
                       " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers);
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    send(text + "\r\n" + std::string(body));
  }

  Answered post(std::string_view path, const Json& body) {
    request("POST", path, body.dump());
    return receive();
  }
  Answered get(std::string_view path, std::string_view headers = {}) {
    request("GET", path, {}, headers);
    return receive();
  }

  /// Headers of the next reply.
  std::string receive_head() {
    const auto end = read_through("\r\n\r\n");
    return take(end);
  }
  /// One reply, its body by length or by chunks. @param bodyless  for HEAD and 204
  Answered receive(bool bodyless = false) {
    Answered out;
    out.head = receive_head();
    out.status = std::stoi(out.head.substr(9, 3));
    if (bodyless) return out;
    if (out.head.find("Transfer-Encoding: chunked") != std::string::npos) {
      for (std::string chunk = receive_chunk(); !chunk.empty(); chunk = receive_chunk()) {
        out.body += chunk;
      }
    } else if (const auto at = out.head.find("Content-Length: "); at != std::string::npos) {
      out.body = take(read_at_least(std::stoul(out.head.substr(at + 16))));
    }
    return out;
  }
  /// One chunk; empty for the last.
  std::string receive_chunk() {
    const std::string line = take(read_through("\r\n"));
    const auto size = std::stoul(line, nullptr, 16);
    std::string chunk = take(read_at_least(size + 2));
    chunk.resize(size);
    return chunk;
  }
  /// Whether the server has closed, after reading what it still sent.
  bool closed() {
    char byte;
    boost::system::error_code error;
    while (!error) socket_.read_some(boost::asio::buffer(&byte, 1), error);
    return error == boost::asio::error::eof || error == boost::asio::error::connection_reset;
  }
  /// Nothing more is sent; what comes back can still be read.
  void end_sending() { socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send); }
  void close() { socket_.close(); }

 private:
  std::size_t read_through(std::string_view mark) {
    return boost::asio::read_until(socket_, boost::asio::dynamic_buffer(buffer_), mark);
  }
  std::size_t read_at_least(std::size_t size) {
    if (buffer_.size() < size) {
      boost::asio::read(socket_, boost::asio::dynamic_buffer(buffer_),
                        boost::asio::transfer_exactly(size - buffer_.size()));
    }
    return size;
  }
  std::string take(std::size_t size) {
    std::string out = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return out;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  std::string buffer_;
};

}  // namespace hearth::server::testing
