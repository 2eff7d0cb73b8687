// students_t.h: Student's t of Boost, evaluated in double.
#pragma once

#include <boost/math/distributions/students_t.hpp>

namespace ridgeline::comparison {

/// Not in long double, as Boost does unless it is told: that takes several times as long for digits nobody sees.
using StudentsT = boost::math::students_t_distribution<
    double, boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

}  // namespace ridgeline::comparison
