// worker.h: work off the window's thread, one job at a time, each cancellable.
//
// Lifecycle: 1. the window's thread posts jobs 2. the worker's thread runs them in order 3. what they found is
// handed to the window's thread, unless the job was replaced or the receiver is gone 4. the destructor stops
// what runs and waits for it.
#pragma once

#include <QObject>
#include <QPointer>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "ridgeline/base/error.h"

namespace ridgeline::gui {

/// Threads: all functions are the window's thread's; jobs run on the worker's.
class Worker : public QObject {
 public:
  Worker();
  ~Worker() override;

  /// Runs `work` and hands its result to `done` on the window's thread while `receiver` lives. A job of the same key
  /// that waits or runs is cancelled, and its `done` is never called. Exceptions become a Failure.
  template <typename T>
  void ask(QObject* receiver, const std::string& key, std::function<Result<T>(std::stop_token)> work,
           std::function<void(Result<T>)> done) {
    const QPointer<QObject> alive(receiver);
    post(key, [this, key, alive, work = std::move(work), done = std::move(done)](const std::stop_token& stop,
                                                                                 std::uint64_t ticket) {
      auto result = std::make_shared<Result<T>>(guarded<T>(work, stop));
      deliver(key, ticket, [alive, done, result] {
        if (alive) done(std::move(*result));
      });
    });
  }

  /// Calls `told` on the window's thread; for progress out of a running job.
  void tell(QObject* receiver, std::function<void()> told);

  void cancel(const std::string& key);
  void cancel_all();
  /// Whether anything waits, runs, or has an answer that was not handed over.
  [[nodiscard]] bool busy() const;

 private:
  using Job = std::function<void(const std::stop_token&, std::uint64_t)>;
  struct Entry {
    std::string key;
    std::uint64_t ticket = 0;
    std::stop_source stop;
    Job job;
  };

  template <typename T>
  static Result<T> guarded(const std::function<Result<T>(std::stop_token)>& work,
                           const std::stop_token& stop) {
    try {
      return work(stop);
    } catch (const Error& error) {
      return Failure{error.kind(), error.message()};
    } catch (const std::bad_alloc&) {
      return Failure{ErrorKind::environment,
                     "out of memory: the capture is larger than this machine can hold"};
    } catch (const std::exception& error) {
      return Failure{ErrorKind::internal, error.what()};
    }
  }

  void post(const std::string& key, Job job);
  void deliver(const std::string& key, std::uint64_t ticket, std::function<void()> done);
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Entry> waiting_;
  std::string running_key_;
  std::stop_source running_stop_;
  bool running_ = false;
  bool ending_ = false;
  std::int64_t unfinished_ = 0;
  std::uint64_t tickets_ = 0;
  std::unordered_map<std::string, std::uint64_t> newest_;  // ticket of each key's last job; 0: cancelled
  std::thread thread_;
};

}  // namespace ridgeline::gui
