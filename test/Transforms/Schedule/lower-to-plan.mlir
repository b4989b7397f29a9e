// RUN: gantry-opt %s --gantry-lower-to-plan -split-input-file | FileCheck %s

// Devices and kernels are declared; a launch reads the input, writes the output in place and gets its
// scratch buffer; the ops inside are listed for the placement log.
// CHECK: plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
// CHECK: plan.kernel @relu_0 items 2 grain 1 scratch 256
// CHECK-LABEL: plan.func @launch
// CHECK-SAME: inputs [#plan.binding<"x" : tensor<4xf32> on @d0>]
// CHECK-SAME: outputs [#plan.binding<"output0" : tensor<4xf32> on @d0>]
// CHECK-SAME: placed [#plan.placed<"Relu" on @d0 in @relu_0, name = "act">]
// CHECK: %[[X:.*]] = plan.input 0 size 16
// CHECK: %[[Y:.*]] = plan.output 0 size 16
// CHECK: %[[S:.*]] = plan.buffer size 256 on @d0 "scratch" : tensor<256xi8>
// CHECK: plan.launch @relu_0(%[[X]]) -> (%[[Y]]) scratch %[[S]] items 2 grain 1 on @d0 "act" ["Relu"] at
// CHECK-NOT: plan.copy
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @launch(%x: tensor<4xf32> {gantry.name = "x"}) -> tensor<4xf32> {
    %0 = gantry.launch @kernels::@relu_0(%x) ops [#gantry.launched<"Relu", name = "act">] {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, gantry.name = "act"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

// A value between two launches is a buffer; a view is the buffer that it looks at.
// CHECK-LABEL: plan.func @chain
// CHECK: %[[X:.*]] = plan.input 0
// CHECK: %[[Y:.*]] = plan.output 0
// CHECK: %[[T:.*]] = plan.buffer size 16 on @d0 "hidden" : tensor<4xf32>
// CHECK: plan.launch @relu_0(%[[X]]) -> (%[[T]])
// CHECK: plan.launch @relu_0(%[[T]]) -> (%[[Y]])
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @chain(%x: tensor<4xf32>) -> tensor<2x2xf32> {
    %0 = gantry.launch @kernels::@relu_0(%x) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, gantry.name = "hidden"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
    %2 = gantry.reshape %1 : (tensor<2x2xf32>) -> tensor<4xf32>
    %3 = gantry.launch @kernels::@relu_0(%2) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = gantry.reshape %3 : (tensor<4xf32>) -> tensor<2x2xf32>
    return %4 : tensor<2x2xf32>
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

// What is returned without being computed here is copied: an input, a constant, a value twice.
// CHECK: plan.constant @c0 "w" on @d0 offset -1 size 16 : tensor<4xf32> = dense<
// CHECK-LABEL: plan.func @copies
// CHECK: %[[W:.*]] = plan.use @c0 size 16
// CHECK: %[[X:.*]] = plan.input 0
// CHECK: %[[O0:.*]] = plan.output 0
// CHECK: %[[O1:.*]] = plan.output 1
// CHECK: %[[O2:.*]] = plan.output 2
// CHECK: %[[O3:.*]] = plan.output 3
// CHECK: plan.launch @relu_0(%[[X]]) -> (%[[O2]])
// CHECK: plan.copy %[[X]] to %[[O0]]
// CHECK: plan.copy %[[W]] to %[[O1]]
// CHECK-NOT: to %[[O2]]
// CHECK: plan.copy %[[O2]] to %[[O3]]
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %w = gantry.constant {gantry.name = "w"} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %0 = gantry.launch @kernels::@relu_0(%x) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    return %x, %w, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

// Equal constants of all functions are one; a private function is gone.
// CHECK-COUNT-2: plan.constant
// CHECK-NOT: plan.constant
// CHECK-LABEL: plan.func @first
// CHECK: plan.use @c0
// CHECK-LABEL: plan.func @second
// CHECK-DAG: plan.use @c0
// CHECK-DAG: plan.use @c1
// CHECK-NOT: plan.func
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @first() -> tensor<4xf32> {
    %w = gantry.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    return %w : tensor<4xf32>
  }
  func.func @second() -> (tensor<4xf32>, tensor<2xf32>) {
    %w = gantry.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %v = gantry.constant dense<[5.0, 6.0]> : tensor<2xf32>
    return %w, %v : tensor<4xf32>, tensor<2xf32>
  }
  func.func private @unused() {
    return
  }
}

// -----

// What a branch makes for the result is made there, here in the output; anything else is copied.
// CHECK-LABEL: plan.func @g2_if
// CHECK: %[[C:.*]] = plan.input 0 size 1
// CHECK: %[[X:.*]] = plan.input 1
// CHECK: %[[Y:.*]] = plan.output 0
// CHECK: plan.if %[[C]] {
// CHECK:   plan.launch @relu_0(%[[X]]) -> (%[[Y]])
// CHECK-NOT: plan.copy
// CHECK: } else {
// CHECK:   plan.copy %[[X]] to %[[Y]]
// CHECK-NEXT: }
// CHECK-NEXT: }
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @g2_if(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = gantry.if %c -> (tensor<4xf32>) {
      %1 = gantry.launch @kernels::@relu_0(%x) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %1 : tensor<4xf32>
    } else {
      gantry.yield %x : tensor<4xf32>
    } : tensor<i1>
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

// A loop copies its initial values to the buffers that it carries, here the output, and the next ones
// at its end, since the kernel may not overwrite what it reads. The condition is made where it is read.
// CHECK-LABEL: plan.func @g2_while
// CHECK: %[[X:.*]] = plan.input 0
// CHECK: %[[I:.*]] = plan.output 0
// CHECK: plan.copy %[[X]] to %[[I]]
// CHECK: %[[F:.*]] = plan.buffer size 1 on @d0 "condition" : tensor<i1>
// CHECK: plan.while %[[F]] {
// CHECK:   plan.launch @less_0(%[[I]]) -> (%[[F]])
// CHECK: } do {
// CHECK:   %[[N:.*]] = plan.buffer size 16
// CHECK:   plan.launch @relu_0(%[[I]]) -> (%[[N]])
// CHECK:   plan.copy %[[N]] to %[[I]]
// CHECK: }
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @g2_while(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = gantry.while (%x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    ^bb0(%i: tensor<4xf32>):
      %1 = gantry.launch @kernels::@less_0(%i) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<i1>
      gantry.yield %1 : tensor<i1>
    } do {
    ^bb0(%i: tensor<4xf32>):
      %1 = gantry.launch @kernels::@relu_0(%i) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %1 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

// Next values are made where the ones before are, when the kernel may overwrite those (%a), or when
// nothing reads them any more (%b, read before by another); not where something reads them later
// (%c). The first value of %a is made there, too.
// CHECK-LABEL: plan.func @g2_while_in_place
// CHECK: %[[X:.*]] = plan.input 0
// CHECK: %[[A:.*]] = plan.output 0
// CHECK: %[[B:.*]] = plan.output 1
// CHECK: %[[C:.*]] = plan.output 2
// CHECK: %[[D:.*]] = plan.output 3
// CHECK: plan.launch @add_0(%[[X]], %[[X]]) -> (%[[A]])
// CHECK-COUNT-3: plan.copy %[[X]] to
// CHECK: } do {
// CHECK-NEXT: plan.launch @add_0(%[[A]], %[[B]]) -> (%[[A]])
// CHECK: plan.launch @relu_0(%[[A]]) -> (%[[B]])
// CHECK: plan.launch @relu_0(%[[X]]) -> (%[[N:.*]]) scratch
// CHECK: plan.launch @add_0(%[[C]], %[[A]]) -> (%[[D]])
// CHECK-NOT: to %[[A]]
// CHECK-NOT: to %[[B]]
// CHECK: plan.copy %[[N]] to %[[C]]
// CHECK-NEXT: }
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @g2_while_in_place(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.launch @kernels::@add_0(%x, %x) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1:4 = gantry.while (%0, %x, %x, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>):
      %2 = gantry.launch @kernels::@less_0(%a) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<i1>
      gantry.yield %2 : tensor<i1>
    } do {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>):
      %2 = gantry.launch @kernels::@add_0(%a, %b) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = gantry.launch @kernels::@relu_0(%2) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
      %4 = gantry.launch @kernels::@relu_0(%x) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
      %5 = gantry.launch @kernels::@add_0(%c, %2) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
    return %1#0, %1#1, %1#2, %1#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @add_0(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1, in_place = [0]>} {
      return
    }
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

// Carried values that change places are brought to safety before any is overwritten.
// CHECK-LABEL: plan.func @g2_swap
// CHECK: %[[A:.*]] = plan.output 0
// CHECK: plan.copy %{{.*}} to %[[A]]
// CHECK: %[[B:.*]] = plan.buffer size 16
// CHECK: plan.copy %{{.*}} to %[[B]]
// CHECK: } do {
// CHECK: %[[SB:.*]] = plan.buffer size 16 on @d0 "next"
// CHECK: plan.copy %[[B]] to %[[SB]]
// CHECK: %[[SA:.*]] = plan.buffer size 16 on @d0 "next"
// CHECK: plan.copy %[[A]] to %[[SA]]
// CHECK: plan.copy %[[SB]] to %[[A]]
// CHECK: plan.copy %[[SA]] to %[[B]]
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]>} {
  func.func @g2_swap(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = gantry.while (%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %1 = gantry.launch @kernels::@less_0(%a) {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : (tensor<4xf32>) -> tensor<i1>
      gantry.yield %1 : tensor<i1>
    } do {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      gantry.yield %b, %a : tensor<4xf32>, tensor<4xf32>
    }
    return %0#0 : tensor<4xf32>
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}
