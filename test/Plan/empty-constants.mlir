// A constant without elements begins where the next one does, in whatever order many of them are sorted.
// RUN: gantry run %s --function second --fill ones 2>/dev/null | FileCheck %s
// RUN: gantry run %s --function first --fill ones 2>/dev/null | FileCheck %s --check-prefix=FIRST
// RUN: gantry run %s --function second --devices=CPU:0,GPU:0 --simulate --fill ones 2>/dev/null | FileCheck %s
// CHECK: output0: f32[1,2]
// CHECK-NEXT: 0.7615942
// FIRST: output1: f32[0,2]

func.func @first(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<0x2xf32>) {
  %w1 = gantry.constant dense<[[1.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %1 = gantry.matmul %x, %w1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r1 = gantry.tanh %1 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w2 = gantry.constant dense<[[2.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %2 = gantry.matmul %r1, %w2 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r2 = gantry.tanh %2 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w3 = gantry.constant dense<[[3.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %3 = gantry.matmul %r2, %w3 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r3 = gantry.tanh %3 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w4 = gantry.constant dense<[[4.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %4 = gantry.matmul %r3, %w4 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r4 = gantry.tanh %4 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w5 = gantry.constant dense<[[5.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %5 = gantry.matmul %r4, %w5 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r5 = gantry.tanh %5 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w6 = gantry.constant dense<[[6.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %6 = gantry.matmul %r5, %w6 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r6 = gantry.tanh %6 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w7 = gantry.constant dense<[[7.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %7 = gantry.matmul %r6, %w7 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r7 = gantry.tanh %7 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w8 = gantry.constant dense<[[8.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %8 = gantry.matmul %r7, %w8 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r8 = gantry.tanh %8 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w9 = gantry.constant dense<[[9.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %9 = gantry.matmul %r8, %w9 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r9 = gantry.tanh %9 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %empty = gantry.constant dense<> : tensor<0x2xf32>
  return %r9, %empty : tensor<1x2xf32>, tensor<0x2xf32>
}
func.func @second(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>) {
  %w10 = gantry.constant dense<[[10.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %10 = gantry.matmul %x, %w10 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r10 = gantry.tanh %10 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w11 = gantry.constant dense<[[11.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %11 = gantry.matmul %r10, %w11 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r11 = gantry.tanh %11 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w12 = gantry.constant dense<[[12.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %12 = gantry.matmul %r11, %w12 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r12 = gantry.tanh %12 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w13 = gantry.constant dense<[[13.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %13 = gantry.matmul %r12, %w13 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r13 = gantry.tanh %13 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w14 = gantry.constant dense<[[14.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %14 = gantry.matmul %r13, %w14 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r14 = gantry.tanh %14 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w15 = gantry.constant dense<[[15.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %15 = gantry.matmul %r14, %w15 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r15 = gantry.tanh %15 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w16 = gantry.constant dense<[[16.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %16 = gantry.matmul %r15, %w16 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r16 = gantry.tanh %16 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w17 = gantry.constant dense<[[17.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %17 = gantry.matmul %r16, %w17 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r17 = gantry.tanh %17 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w18 = gantry.constant dense<[[18.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %18 = gantry.matmul %r17, %w18 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r18 = gantry.tanh %18 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %w19 = gantry.constant dense<[[19.0, 1.0], [0.5, 0.0]]> : tensor<2x2xf32>
  %19 = gantry.matmul %r18, %w19 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %r19 = gantry.tanh %19 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %r19 : tensor<1x2xf32>
}
