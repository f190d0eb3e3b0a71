package dev.sidemirror.client;

import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.concurrent.CompletableFuture;

/** The answer to a unary call; completed exceptionally with its StatusRuntimeException. */
final class Asked<Q, A> extends CompletableFuture<A> implements ClientResponseObserver<Q, A> {
  private volatile ClientCallStreamObserver<Q> call;

  @Override
  public void beforeStart(ClientCallStreamObserver<Q> begun) {
    call = begun;
  }

  @Override
  public void onNext(A answer) {
    complete(answer);
  }

  @Override
  public void onError(Throwable why) {
    completeExceptionally(why);
  }

  @Override
  public void onCompleted() {
    cancel(false); // does nothing after an answer, which a unary call that ends well has had
  }

  /** HTTP/2 has refused it, so that the sidecar has not begun with it. */
  boolean isRefusedByHttp() {
    return handle((answer, why) -> why != null && Trouble.isRefusedStream(why)).getNow(false);
  }

  /** Nobody waits for it any more. */
  void giveUp() {
    if (call != null && !isDone()) {
      call.cancel("nobody waits for it any more", null);
    }
  }
}
