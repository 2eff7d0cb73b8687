// svg_shapes.h: a chart read back: its elements, and whether they lie inside the picture.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline::testing {

/// One element of a chart.
struct Shape {
  std::string tag;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< of a <text>; the tooltip of others
  [[nodiscard]] double number(const std::string& name) const { return std::stod(attributes.at(name)); }
  [[nodiscard]] bool is(const std::string& wanted_tag, const std::string& css) const {
    return tag == wanted_tag && attributes.at("class") == css;
  }
};

inline std::vector<Shape> shapes_of(const std::string& svg) {
  std::vector<Shape> shapes;
  const std::regex element("<(rect|line|circle|text|polygon) ([^>]*?)/?>(?:<title>([^<]*)</title>)?([^<]*)");
  const std::regex attribute("([a-z0-9-]+)=\"([^\"]*)\"");
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), element); at != std::sregex_iterator(); ++at) {
    Shape shape;
    shape.tag = (*at)[1];
    const std::string attributes = (*at)[2];
    for (auto of = std::sregex_iterator(attributes.begin(), attributes.end(), attribute);
         of != std::sregex_iterator(); ++of) {
      shape.attributes[(*of)[1]] = (*of)[2];
    }
    shape.text = shape.tag == "text" ? (*at)[4] : (*at)[3];
    shapes.push_back(shape);
  }
  return shapes;
}

inline std::vector<Shape> all(const std::string& svg, const std::string& tag, const std::string& css) {
  std::vector<Shape> found;
  for (const Shape& shape : shapes_of(svg)) {
    if (shape.is(tag, css)) found.push_back(shape);
  }
  return found;
}

/// Width and height of the picture.
inline std::pair<double, double> box_of(const std::string& svg) {
  std::smatch box;
  EXPECT_TRUE(std::regex_search(svg, box, std::regex("viewBox=\"0 0 ([0-9.]+) ([0-9.]+)\"")));
  return box.empty() ? std::pair(0.0, 0.0) : std::pair(std::stod(box[1]), std::stod(box[2]));
}

/// Every shape lies inside the picture.
inline void expect_inside(const std::string& svg) {
  const auto [width, height] = box_of(svg);
  for (const Shape& shape : shapes_of(svg)) {
    if (shape.tag == "rect") {
      EXPECT_GE(shape.number("x"), 0);
      EXPECT_LE(shape.number("x") + shape.number("width"), width + 0.02);
      EXPECT_LE(shape.number("y") + shape.number("height"), height + 0.02);
    } else if (shape.tag == "circle") {
      EXPECT_TRUE(shape.number("cx") >= 0 && shape.number("cx") <= width);
      EXPECT_TRUE(shape.number("cy") >= 0 && shape.number("cy") <= height);
    } else if (shape.tag == "text") {
      EXPECT_LE(shape.number("x"), width);
      EXPECT_LE(shape.number("y"), height);
      EXPECT_GT(shape.number("y"), 0);
    } else if (shape.tag == "line") {
      for (const char* name : {"x1", "x2"})
        EXPECT_TRUE(shape.number(name) >= 0 && shape.number(name) <= width);
      for (const char* name : {"y1", "y2"})
        EXPECT_TRUE(shape.number(name) >= 0 && shape.number(name) <= height);
    }
  }
}

}  // namespace ridgeline::testing
