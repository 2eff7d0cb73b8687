// The page and the sentences of many ranks, of jobs whose truth is known.
#include "ridgeline/reports/ranks_document.h"

#include <gtest/gtest.h>

#include "generate/rank_job.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/reports/ranks_pictures.h"
#include "support/temporary_directory.h"
#include "xml_checker.h"

namespace ridgeline::reports {
namespace {

analyzer::JobAnalysis analysed_job(const generate::RankJob& options) {
  const ridgeline::testing::TemporaryDirectory directory;
  std::vector<store::Job> parts;
  for (const std::string& file : generate::generate_rank_job(options, directory.path()).files)
    parts.push_back(analyzer::ranks_of(file).value());
  store::Job job = analyzer::merged(std::move(parts)).value();
  analyzer::align_clocks(job);
  return analyzer::analyse_job(job).value();
}

std::string all_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text.append(sentence).append("\n");
  return text;
}

TEST(RanksDocument, SaysWhoIsMissingAndThatNobodyIsCleared) {
  generate::RankJob job;
  job.ranks = 5;
  job.steps = 4;
  job.layers = 2;
  job.lost = {3};
  const std::string said = all_of(ranks_sentences(analysed_job(job)));
  EXPECT_NE(said.find("4 of 5 ranks on 1 host, 4 steps; missing: 3. Waits are at least"), std::string::npos)
      << said;
  EXPECT_NE(said.find("Who is late cannot be said"), std::string::npos) << said;
}

TEST(RanksDocument, SaysWhichCallsDoNotFit) {
  generate::RankJob job;
  job.ranks = 3;
  job.steps = 6;
  job.layers = 3;
  job.reordered = 1;
  job.lost_calls = 2;
  const std::string said = all_of(ranks_sentences(analysed_job(job)));
  EXPECT_NE(said.find("No rank is late"), std::string::npos) << said;
  EXPECT_NE(said.find("Rank 1, step 3: 2 collectives in another order"), std::string::npos) << said;
  EXPECT_NE(said.find("Rank 2, step 4: 2 collectives of the others have no record."), std::string::npos)
      << said;
}

TEST(RanksDocument, SaysWhatMostStepsAreLikeWhereSomeTakeManyTimesAsLong) {
  generate::RankJob job;
  job.steps = 8;
  analyzer::JobAnalysis analysis = analysed_job(job);
  EXPECT_EQ(all_of(ranks_sentences(analysis)).find("In the median"), std::string::npos);
  for (analyzer::JobStepCost& step : analysis.step_costs) step.duration_ns = 3e6, step.exposed_ns = 5e5;
  analysis.step_costs[2].duration_ns = 185e6;
  analysis.step_costs[2].exposed_ns = 29e6;
  const std::string said = all_of(ranks_sentences(analysis));
  EXPECT_NE(said.find("with 1 step that took more than three times the median: step 2 took 185"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("In the median a step takes 3.000 ms and waits 500.0 µs."), std::string::npos) << said;
}

TEST(RanksDocument, SaysWhichHostsStepsAreJoinedByNumberAlone) {
  generate::RankJob job;
  job.steps = 4;
  analyzer::JobAnalysis analysis = analysed_job(job);
  EXPECT_EQ(all_of(ranks_sentences(analysis)).find("nothing shows"), std::string::npos);
  analysis.joined_by_numbers = {"beta"};
  EXPECT_NE(
      all_of(ranks_sentences(analysis)).find("The steps of beta are joined to those of the other hosts"),
      std::string::npos);
  analysis.joined_by_numbers = {"beta", "gamma"};
  EXPECT_NE(all_of(ranks_sentences(analysis)).find("The steps of 2 hosts are joined"), std::string::npos);
}

TEST(RanksDocument, SaysWhatCollectivesCostKernelsOrWhyNot) {
  generate::RankJob job;
  job.steps = 8;
  job.links = 0.5;
  job.interference = 1.5;
  analyzer::JobAnalysis analysis = analysed_job(job);
  EXPECT_NE(all_of(ranks_sentences(analysis)).find("Kernels beside collectives take"), std::string::npos);
  const auto longer = [&] { return all_of(ranks_sentences(analysis)).find(" longer in a step ("); };
  EXPECT_NE(longer(), std::string::npos);
  analysis.interference.cost.low_ns = -1;
  EXPECT_EQ(longer(), std::string::npos);
  EXPECT_NE(all_of(ranks_sentences(analysis)).find("take as long as launches"), std::string::npos);
  using analyzer::InterferenceRefusal;
  const std::pair<InterferenceRefusal, const char*> kSaid[] = {
      {InterferenceRefusal::not_kept, "cannot be said: the job was merged without it"},
      {InterferenceRefusal::none_beside, "No kernel ran beside a collective."},
      {InterferenceRefusal::no_controls, "cannot be said: there are no launches of the same kinds"},
      {InterferenceRefusal::few_steps, "cannot be said: there are too few steps"}};
  for (const auto& [refusal, words] : kSaid) {
    analysis.interference.refusal = refusal;
    EXPECT_NE(all_of(ranks_sentences(analysis)).find(words), std::string::npos) << words;
  }
}

TEST(RanksDocument, ThePageIsWellFormedAndItsPictureHasACellForEachRankAndStep) {
  generate::RankJob job;
  job.ranks = 3;
  job.steps = 5;
  job.layers = 2;
  job.cause = generate::RankCause::copies;
  const analyzer::JobAnalysis analysis = analysed_job(job);
  const std::string page = ranks_page(analysis);
  EXPECT_EQ(ridgeline::testing::check_xml(page).error, "");
  const std::string picture = lateness_picture(analysis);
  std::size_t cells = 0;
  for (std::size_t at = picture.find("<rect"); at != std::string::npos; at = picture.find("<rect", at + 1))
    ++cells;
  EXPECT_EQ(cells, 15U);
}

TEST(RanksDocument, ThePageShowsOneStepRankByRankAndSkewOverSteps) {
  generate::RankJob options;
  options.ranks = 3;
  options.steps = 5;
  options.layers = 2;
  options.cause = generate::RankCause::copies;
  const ridgeline::testing::TemporaryDirectory directory;
  std::vector<store::Job> parts;
  for (const std::string& file : generate::generate_rank_job(options, directory.path()).files)
    parts.push_back(analyzer::ranks_of(file).value());
  store::Job job = analyzer::merged(std::move(parts)).value();
  analyzer::align_clocks(job);
  const analyzer::JobAnalysis analysis = analyzer::analyse_job(job).value();
  const analyzer::JobStepRows step =
      analyzer::job_step_rows(job, analysis, analyzer::telling_step(analysis), 32).value();
  const std::string page = ranks_page(analysis, &step);
  EXPECT_EQ(ridgeline::testing::check_xml(page).error, "");
  EXPECT_NE(page.find("One step, rank by rank"), std::string::npos);
  const std::string rows = step_rows_picture(step);
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(rows, "class=\"own\""), 3U);
  EXPECT_EQ(count(rows, "class=\"join\""), 2U * step.collectives.size());
  EXPECT_NE(rows.find("all_reduce, 28.31 MB"), std::string::npos) << rows.substr(0, 2000);
  EXPECT_GT(count(rows, "class=\"wait\""), 0U);
  const std::string skew = skew_picture(analysis);
  EXPECT_EQ(count(skew, "<rect"), 5U);
  EXPECT_EQ(count(skew, "class=\"late\""), static_cast<std::size_t>(analysis.late_steps));
}

TEST(RanksDocument, ManyRanksShareRowsOfThePictureAndTheLatestIsShown) {
  analyzer::JobAnalysis analysis;
  analysis.late_threshold_ns = 100;
  for (std::int64_t rank = 0; rank < 1000; ++rank) analysis.ranks.push_back(rank);
  for (std::int64_t step = 0; step < 20; ++step) {
    analyzer::JobStepCost cost;
    cost.step_index = step;
    cost.rank_lateness_ns.assign(1000, 1);
    cost.rank_lateness_ns[777] = step == 7 ? 1000 : 1;
    analysis.step_costs.push_back(std::move(cost));
  }
  const std::string picture = lateness_picture(analysis);
  EXPECT_LT(picture.size(), 500'000U);
  std::size_t late = 0;
  for (std::size_t at = picture.find("class=\"h3\""); at != std::string::npos;
       at = picture.find("class=\"h3\"", at + 1))
    ++late;
  EXPECT_EQ(late, 1U);
}

TEST(RanksDocument, OfManyRanksTheLateOnesComeFirstForPeopleAndProgramsHaveAllInOrder) {
  analyzer::JobAnalysis analysis;
  for (std::int64_t rank = 0; rank < 100; ++rank) {
    analysis.ranks.push_back(rank);
    analyzer::RankCost cost;
    cost.rank = rank;
    if (rank == 77) {
      cost.late_steps = 3;
      cost.late_ns = 5000;
      cost.cause = analyzer::LatenessCause::copies;
    }
    analysis.rank_costs.push_back(std::move(cost));
  }
  DocumentOptions how;
  const std::string text = ranks_document(analysis, RanksView::rank, how).text();
  EXPECT_LT(text.find("\n  77 "), text.find("\n   0 ")) << text;
  EXPECT_NE(text.find("60 more ranks are not shown: --all shows them.\n"), std::string::npos) << text;
  how.format = Format::csv;
  const std::string csv = ranks_document(analysis, RanksView::rank, how).text();
  EXPECT_LT(csv.find("\n0,"), csv.find("\n77,"));
}

TEST(RanksDocument, AWordThatIsNoViewIsRefused) {
  EXPECT_TRUE(parse_ranks_view("collective").ok());
  EXPECT_EQ(parse_ranks_view("node").failure().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ridgeline::reports
