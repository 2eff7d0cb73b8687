#include "ceilings/core/energy_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ridgeline::ceilings {
namespace {

// 100 W, 120 pJ a byte, 6 pJ an operation.
EnergyPoint load(double bytes, double ops, double more_w = 0) {
  return {100 + 120e-12 * bytes + 6e-12 * ops + more_w, {{"dram_byte", bytes}, {"fp64_op", ops}}};
}

double joules(const EnergyModel& model, const std::string& name) {
  for (const EnergyTerm& term : model.terms) {
    if (term.name == name) return term.joules;
  }
  return NAN;
}

TEST(CeilingEnergyModel, FindsWhatTheLoadsWereMadeOf) {
  const auto model =
      fit_energy({load(4e12, 0), load(2e12, 0), load(0, 3e13), load(0, 1e13), load(3e12, 2e13)});
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->idle_w, 100, 1e-6);
  EXPECT_NEAR(joules(*model, "dram_byte"), 120e-12, 1e-18);
  EXPECT_NEAR(joules(*model, "fp64_op"), 6e-12, 1e-19);
  EXPECT_LT(model->rms_w, 1e-6);
  EXPECT_EQ(model->points, 5);
  EXPECT_NEAR(model->watts({{"dram_byte", 1e12}, {"unknown", 1e12}}), 220, 1e-6);
}

TEST(CeilingEnergyModel, ResidualsAndErrorsAreThoseOfTheNoise) {
  const auto model = fit_energy({load(4e12, 0, 3), load(4e12, 0, -3), load(2e12, 0, 3), load(2e12, 0, -3),
                                 load(0, 3e13, 3), load(0, 3e13, -3)});
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->rms_w, 3, 1e-6);
  EXPECT_NEAR(model->max_w, 3, 1e-6);
  EXPECT_NEAR(joules(*model, "dram_byte"), 120e-12, 1e-18);
  // Two points of deviation s at each of two rates: error of the slope s·sqrt(1 / Σ(x − mean)²) = s / 2e12.
  const double s = std::sqrt(6 * 9.0 / 3);
  EXPECT_NEAR(model->terms[0].error, s / 2e12, 1e-15);
  EXPECT_GT(model->idle_error_w, 0);
}

TEST(CeilingEnergyModel, TooFewPointsOrPointsThatDoNotTellTermsApartGiveNone) {
  EXPECT_FALSE(fit_energy({}));
  EXPECT_FALSE(fit_energy({load(4e12, 0), load(2e12, 0)})) << "as many as unknowns";
  EXPECT_FALSE(fit_energy({load(4e12, 0), load(4e12, 0), load(4e12, 0)})) << "one rate";
  EXPECT_FALSE(fit_energy({load(1e12, 1e13), load(2e12, 2e13), load(3e12, 3e13), load(4e12, 4e13)}))
      << "always together";
}

}  // namespace
}  // namespace ridgeline::ceilings
