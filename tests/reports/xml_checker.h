// xml_checker.h: is this text well-formed XML? Enough of the standard to catch a string that has broken out
// of its element or attribute. Made for tests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::testing {

struct XmlResult {
  std::string error;                    // "" if well-formed
  std::map<std::string, int> elements;  // how often each occurs
  std::vector<std::string> attributes;  // "element@name=value"
  std::string text;                     // all character data, unescaped only for &lt; &gt; &amp;
};

inline XmlResult check_xml(std::string_view in) {
  XmlResult out;
  std::vector<std::string> open;
  std::size_t i = 0;
  const auto fail = [&](const std::string& what) {
    out.error =
        what + " at byte " + std::to_string(i) + ": " + std::string(in.substr(i > 40 ? i - 40 : 0, 80));
    return out;
  };
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == ':' || c == '_';
  };
  const auto entity_ok = [&](std::size_t at) {
    const auto end = in.find(';', at);
    if (end == std::string_view::npos || end - at > 8) return false;
    const std::string_view name = in.substr(at + 1, end - at - 1);
    return name == "lt" || name == "gt" || name == "amp" || name == "quot" || name == "apos" ||
           name.substr(0, 1) == "#";
  };
  if (in.substr(0, 15) == "<!DOCTYPE html>") i = 15;
  while (i < in.size()) {
    const char c = in[i];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r')
      return fail("control character");
    if (c == '&') {
      if (!entity_ok(i)) return fail("bare &");
      out.text += '&';
      ++i;
      continue;
    }
    if (c != '<') {
      if (c == '>') return fail("bare >");
      if (open.empty() && c != '\n' && c != ' ') return fail("text outside the root");
      out.text += c;
      ++i;
      continue;
    }
    if (i + 1 < in.size() && in[i + 1] == '/') {
      std::size_t end = i + 2;
      while (end < in.size() && is_name(in[end])) ++end;
      const std::string name(in.substr(i + 2, end - i - 2));
      if (end >= in.size() || in[end] != '>') return fail("bad end tag");
      if (open.empty() || open.back() != name)
        return fail("end of " + name + " where " + (open.empty() ? "nothing" : open.back()) + " is open");
      open.pop_back();
      i = end + 1;
      continue;
    }
    std::size_t at = i + 1;
    while (at < in.size() && is_name(in[at])) ++at;
    const std::string name(in.substr(i + 1, at - i - 1));
    if (name.empty()) return fail("bare <");
    if (open.empty() && !out.elements.empty()) return fail("second root");
    ++out.elements[name];
    std::map<std::string, int> seen;
    bool closed = false;
    while (true) {
      while (at < in.size() && (in[at] == ' ' || in[at] == '\n')) ++at;
      if (at >= in.size()) return fail("tag is not closed");
      if (in[at] == '>') break;
      if (in[at] == '/' && at + 1 < in.size() && in[at + 1] == '>') {
        closed = true;
        ++at;
        break;
      }
      const std::size_t from = at;
      while (at < in.size() && is_name(in[at])) ++at;
      const std::string attribute(in.substr(from, at - from));
      if (attribute.empty() || at + 1 >= in.size() || in[at] != '=' || in[at + 1] != '"')
        return fail("bad attribute");
      if (++seen[attribute] > 1) return fail("attribute twice");
      const std::size_t value = at + 2;
      at = in.find('"', value);
      if (at == std::string_view::npos) return fail("attribute is not closed");
      for (std::size_t k = value; k < at; ++k) {
        if (in[k] == '<' || (in[k] == '&' && !entity_ok(k))) return fail("bad attribute value");
      }
      out.attributes.push_back(name + "@" + attribute + "=" + std::string(in.substr(value, at - value)));
      ++at;
    }
    if (!closed) open.push_back(name);
    i = at + 1;
  }
  if (!open.empty()) out.error = open.back() + " is never closed";
  return out;
}

}  // namespace ridgeline::testing
