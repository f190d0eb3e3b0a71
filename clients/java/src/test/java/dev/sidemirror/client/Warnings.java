package dev.sidemirror.client;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What a log says, the client's own unless another one is named, from here until it is closed. */
final class Warnings extends Handler implements AutoCloseable {
  final LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();
  private final Logger logger;

  Warnings() {
    this("dev.sidemirror.client");
  }

  Warnings(String name) {
    logger = Logger.getLogger(name);
    logger.addHandler(this);
  }

  @Override
  public void publish(LogRecord record) {
    told.add(new SimpleFormatter().formatMessage(record));
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    logger.removeHandler(this);
  }
}
