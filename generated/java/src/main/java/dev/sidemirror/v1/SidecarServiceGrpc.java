package dev.sidemirror.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * What this sidecar is and how it is set up.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SidecarServiceGrpc {

  private SidecarServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sidemirror.v1.SidecarService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetServerInfoRequest,
      dev.sidemirror.v1.GetServerInfoResponse> getGetServerInfoMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetServerInfo",
      requestType = dev.sidemirror.v1.GetServerInfoRequest.class,
      responseType = dev.sidemirror.v1.GetServerInfoResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetServerInfoRequest,
      dev.sidemirror.v1.GetServerInfoResponse> getGetServerInfoMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetServerInfoRequest, dev.sidemirror.v1.GetServerInfoResponse> getGetServerInfoMethod;
    if ((getGetServerInfoMethod = SidecarServiceGrpc.getGetServerInfoMethod) == null) {
      synchronized (SidecarServiceGrpc.class) {
        if ((getGetServerInfoMethod = SidecarServiceGrpc.getGetServerInfoMethod) == null) {
          SidecarServiceGrpc.getGetServerInfoMethod = getGetServerInfoMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetServerInfoRequest, dev.sidemirror.v1.GetServerInfoResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetServerInfo"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetServerInfoRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetServerInfoResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SidecarServiceMethodDescriptorSupplier("GetServerInfo"))
              .build();
        }
      }
    }
    return getGetServerInfoMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SidecarServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SidecarServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SidecarServiceStub>() {
        @java.lang.Override
        public SidecarServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SidecarServiceStub(channel, callOptions);
        }
      };
    return SidecarServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SidecarServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SidecarServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SidecarServiceBlockingV2Stub>() {
        @java.lang.Override
        public SidecarServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SidecarServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SidecarServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SidecarServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SidecarServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SidecarServiceBlockingStub>() {
        @java.lang.Override
        public SidecarServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SidecarServiceBlockingStub(channel, callOptions);
        }
      };
    return SidecarServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SidecarServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SidecarServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SidecarServiceFutureStub>() {
        @java.lang.Override
        public SidecarServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SidecarServiceFutureStub(channel, callOptions);
        }
      };
    return SidecarServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * What this sidecar is and how it is set up.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Version, stores, models, defaults, limits and spend of this server.
     * </pre>
     */
    default void getServerInfo(dev.sidemirror.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetServerInfoMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SidecarService.
   * <pre>
   * What this sidecar is and how it is set up.
   * </pre>
   */
  public static abstract class SidecarServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SidecarServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SidecarService.
   * <pre>
   * What this sidecar is and how it is set up.
   * </pre>
   */
  public static final class SidecarServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SidecarServiceStub> {
    private SidecarServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SidecarServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SidecarServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Version, stores, models, defaults, limits and spend of this server.
     * </pre>
     */
    public void getServerInfo(dev.sidemirror.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SidecarService.
   * <pre>
   * What this sidecar is and how it is set up.
   * </pre>
   */
  public static final class SidecarServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SidecarServiceBlockingV2Stub> {
    private SidecarServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SidecarServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SidecarServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Version, stores, models, defaults, limits and spend of this server.
     * </pre>
     */
    public dev.sidemirror.v1.GetServerInfoResponse getServerInfo(dev.sidemirror.v1.GetServerInfoRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SidecarService.
   * <pre>
   * What this sidecar is and how it is set up.
   * </pre>
   */
  public static final class SidecarServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SidecarServiceBlockingStub> {
    private SidecarServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SidecarServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SidecarServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Version, stores, models, defaults, limits and spend of this server.
     * </pre>
     */
    public dev.sidemirror.v1.GetServerInfoResponse getServerInfo(dev.sidemirror.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SidecarService.
   * <pre>
   * What this sidecar is and how it is set up.
   * </pre>
   */
  public static final class SidecarServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SidecarServiceFutureStub> {
    private SidecarServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SidecarServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SidecarServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Version, stores, models, defaults, limits and spend of this server.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetServerInfoResponse> getServerInfo(
        dev.sidemirror.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_SERVER_INFO = 0;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_GET_SERVER_INFO:
          serviceImpl.getServerInfo((dev.sidemirror.v1.GetServerInfoRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetServerInfoResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGetServerInfoMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetServerInfoRequest,
              dev.sidemirror.v1.GetServerInfoResponse>(
                service, METHODID_GET_SERVER_INFO)))
        .build();
  }

  private static abstract class SidecarServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SidecarServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sidemirror.v1.SidecarProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SidecarService");
    }
  }

  private static final class SidecarServiceFileDescriptorSupplier
      extends SidecarServiceBaseDescriptorSupplier {
    SidecarServiceFileDescriptorSupplier() {}
  }

  private static final class SidecarServiceMethodDescriptorSupplier
      extends SidecarServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SidecarServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (SidecarServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SidecarServiceFileDescriptorSupplier())
              .addMethod(getGetServerInfoMethod())
              .build();
        }
      }
    }
    return result;
  }
}
