// RUN: gantry-opt %s --gantry-insert-copies | FileCheck %s

// What tells where an op comes from, causes of copies here, has the line of its file, be it behind
// names, calls or fusions. A model has no lines.

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

#line = loc("layers.py":12:5)
#caller = loc("train.py":40:1)
#model = loc("m.onnx":0:0)

module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu]>} {
  func.func @places(%a: tensor<1xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>,
                    %e: tensor<5xf32>, %f: tensor<6xf32>, %g: tensor<7xf32>, %h: tensor<8xf32>) {
    // CHECK: cause = "Exp at layers.py:12:5"} : tensor<1xf32>
    %0 = gantry.exp %a {gantry.device = #gpu} : (tensor<1xf32>) -> tensor<1xf32> loc(#line)
    // CHECK: cause = "Exp at node 'dense' of layers.py:12:5"} : tensor<2xf32>
    %1 = gantry.exp %b {gantry.device = #gpu} : (tensor<2xf32>) -> tensor<2xf32> loc("dense"(#line))
    // CHECK: cause = "Exp at layers.py:12:5"} : tensor<3xf32>
    %2 = gantry.exp %c {gantry.device = #gpu} : (tensor<3xf32>) -> tensor<3xf32> loc(callsite(#line at #caller))
    // CHECK: cause = "Exp at node 'dense' of layers.py:12:5"} : tensor<4xf32>
    %3 = gantry.exp %d {gantry.device = #gpu} : (tensor<4xf32>) -> tensor<4xf32> loc(callsite("dense"(#line) at #caller))
    // CHECK: cause = "Exp at node 'dense' of train.py:40:1"} : tensor<5xf32>
    %4 = gantry.exp %e {gantry.device = #gpu} : (tensor<5xf32>) -> tensor<5xf32> loc(callsite("dense" at #caller))
    // CHECK: cause = "Exp at node 'a' of layers.py:12:5"} : tensor<6xf32>
    %5 = gantry.exp %f {gantry.device = #gpu} : (tensor<6xf32>) -> tensor<6xf32> loc(fused["a", "b"(#line)])
    // CHECK: cause = "Exp at node 'outer' of layers.py:12:5"} : tensor<7xf32>
    %6 = gantry.exp %g {gantry.device = #gpu} : (tensor<7xf32>) -> tensor<7xf32> loc("outer"("inner"(#line)))
    // CHECK: cause = "Exp at node 'conv' of m.onnx"} : tensor<8xf32>
    %7 = gantry.exp %h {gantry.device = #gpu} : (tensor<8xf32>) -> tensor<8xf32> loc("conv"(#model))
    return
  }
}
