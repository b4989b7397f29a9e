// No bit of a result depends on which ops share a kernel: fused as the compiler likes it, and one
// kernel per op, also where the ops are spread over devices (docs/decisions/0016).

// RUN: rm -rf %t && mkdir %t && %python %S/Inputs/fusion_arrays.py make %t
// RUN: gantry run %s --function=float --input %t/float.npz --output %t/fused.npz
// RUN: gantry run %s --function=float --input %t/float.npz --no-fuse --output %t/apart.npz
// RUN: gantry run %s --function=float --input %t/float.npz --devices=CPU:0,GPU:0,GPU:1 --simulate --place op:Mul=GPU:1 --place op:Relu=GPU:1 --output %t/spread.npz
// RUN: %python %S/Inputs/fusion_arrays.py compare %t/fused.npz %t/apart.npz %t/spread.npz
// RUN: gantry run %s --function=half --input %t/half.npz --output %t/fused.half.npz
// RUN: gantry run %s --function=half --input %t/half.npz --no-fuse --output %t/apart.half.npz
// RUN: %python %S/Inputs/fusion_arrays.py compare %t/fused.half.npz %t/apart.half.npz

// It would not be worth much if nothing were fused.
// RUN: gantry explain %s --function=float | FileCheck %s
// CHECK: 2 launches for 12 ops
func.func @float(%a: tensor<37x65xf32> {gantry.name = "a"}, %b: tensor<65x41xf32> {gantry.name = "b"}, %c: tensor<37x41xf32> {gantry.name = "c"}) -> (tensor<37x41xf32>, tensor<37x41xf32>) {
  %0 = gantry.matmul %a, %b : (tensor<37x65xf32>, tensor<65x41xf32>) -> tensor<37x41xf32>
  %1 = gantry.mul %0, %c : (tensor<37x41xf32>, tensor<37x41xf32>) -> tensor<37x41xf32>
  %2 = gantry.add %1, %c : (tensor<37x41xf32>, tensor<37x41xf32>) -> tensor<37x41xf32>
  %3 = gantry.add_n %2, %c, %c : (tensor<37x41xf32>, tensor<37x41xf32>, tensor<37x41xf32>) -> tensor<37x41xf32>
  %4 = gantry.mul %3, %c : (tensor<37x41xf32>, tensor<37x41xf32>) -> tensor<37x41xf32>
  %5 = gantry.sub %4, %3 : (tensor<37x41xf32>, tensor<37x41xf32>) -> tensor<37x41xf32>
  %6 = gantry.tanh %5 : (tensor<37x41xf32>) -> tensor<37x41xf32>
  %7 = gantry.neg %6 : (tensor<37x41xf32>) -> tensor<37x41xf32>
  %8 = gantry.relu %7 : (tensor<37x41xf32>) -> tensor<37x41xf32>
  %9 = gantry.softmax %8 {axis = 1 : i64} : (tensor<37x41xf32>) -> tensor<37x41xf32>
  %10 = gantry.mul %9, %c : (tensor<37x41xf32>, tensor<37x41xf32>) -> tensor<37x41xf32>
  %11 = gantry.add %10, %c : (tensor<37x41xf32>, tensor<37x41xf32>) -> tensor<37x41xf32>
  return %8, %11 : tensor<37x41xf32>, tensor<37x41xf32>
}

func.func @half(%a: tensor<333xf16> {gantry.name = "a"}, %b: tensor<333xf16> {gantry.name = "b"}) -> tensor<333xf16> {
  %0 = gantry.mul %a, %b : (tensor<333xf16>, tensor<333xf16>) -> tensor<333xf16>
  %1 = gantry.add %0, %b : (tensor<333xf16>, tensor<333xf16>) -> tensor<333xf16>
  %2 = gantry.mul %1, %a : (tensor<333xf16>, tensor<333xf16>) -> tensor<333xf16>
  %3 = gantry.exp %2 : (tensor<333xf16>) -> tensor<333xf16>
  return %3 : tensor<333xf16>
}
