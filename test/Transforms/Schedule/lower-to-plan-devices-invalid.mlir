// RUN: gantry-opt %s --gantry-lower-to-plan -split-input-file -verify-diagnostics

!t = tensor<4xf32>
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @foreign(%x: !t) -> (!t {gantry.device = #gpu0}) {
    // expected-error @+1 {{'gantry.launch' op runs on '/job:localhost/replica:0/task:0/device:GPU:0' and reads a value on '/job:localhost/replica:0/task:0/device:CPU:0'; Copy was to bring it there}}
    %1 = gantry.launch @kernels::@relu_0(%x) {gantry.device = #gpu0, gantry.name = "first"} : (!t) -> !t
    return %1 : !t
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @add_0(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

